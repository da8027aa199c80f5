package carrel.chat;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import carrel.chat.Segment.Kind;
import carrel.protocol.Messages.ChatCitation;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class TranscriptTest {
    private static final ChatCitation LOGIN = new ChatCitation("file:///p/src/login.py", "src/login.py", 3, 8, true, null, null, null);
    private static final ChatCitation LATER = new ChatCitation("file:///p/src/login.py", "src/login.py", 40, 41, false, "it says nothing of that", null, null);

    @Test
    void citedPlacesAreLinksAndThoseThatDoNotHoldAreMarkedAndExplained() {
        var segments = answer("See src/login.py:3-8, src/login.py:40-41 [unverified] and lib/src/login.py:3.", LOGIN, LATER);
        var links = segments.stream().filter(Segment::isLink).toList();
        assertEquals(
                List.of(
                        new Segment(Kind.PLACE, "src/login.py:3-8", LOGIN.uri(), 3),
                        new Segment(Kind.UNVERIFIED, "src/login.py:40-41", LOGIN.uri(), 40),
                        new Segment(Kind.UNVERIFIED, "src/login.py:40-41", LOGIN.uri(), 40)),
                links);
        assertTrue(text(segments).endsWith("and lib/src/login.py:3.\nsrc/login.py:40-41 (unverified: it says nothing of that)\n"), text(segments));
    }

    @Test
    void codeBetweenFencesStandsAsItIs() {
        var words = "Call it:\n```python\nlogin() # src/login.py:3-8\n```\nas src/login.py:3-8 does.";
        var segments = answer(words, LOGIN);
        assertEquals("```python\nlogin() # src/login.py:3-8\n```\n", text(segments.stream().filter(one -> one.kind() == Kind.CODE).toList()));
        assertEquals(1, segments.stream().filter(Segment::isLink).count());
        assertEquals("why?\n" + words + "\n", text(segments));
    }

    @Test
    void anAnswerThatStreamsInIsUnfinishedAndHasNoLinks() {
        var turn = new Turn("why?", List.of("search_code: login"), "As src/login.py:3-8", List.of(LOGIN), List.of(), null, true);
        assertEquals("why?\n> search_code: login\nAs src/login.py:3-8…\n", text(Transcript.of(List.of(turn))));
        assertTrue(Transcript.of(List.of(turn)).stream().noneMatch(Segment::isLink));
    }

    @Test
    void aQuestionWithoutAnAnswerSaysWhy() {
        var turn = new Turn("why?", List.of(), "", List.of(), List.of("cancelled"), null, false);
        assertEquals("why?\n> cancelled\n\nwhy?\n> cancelled\n", text(Transcript.of(List.of(turn, turn))));
    }

    @Test
    void aNumberThatNoFileHasIsText() {
        assertEquals("why?\nsrc/login.py:99999999999\n", text(answer("src/login.py:99999999999", LOGIN)));
    }

    private static List<Segment> answer(String text, ChatCitation... places) {
        return Transcript.of(List.of(new Turn("why?", List.of(), text, List.of(places), List.of(), null, false)));
    }

    private static String text(List<Segment> segments) {
        return segments.stream().map(Segment::text).collect(Collectors.joining());
    }
}
