package carrel.chat;

import carrel.memory.Memory;
import carrel.memory.Question;
import carrel.protocol.Messages.ChatCitation;
import carrel.protocol.Messages.ChatMessage;
import carrel.protocol.Messages.ChatResult;
import carrel.protocol.Messages.ChatStep;
import carrel.protocol.Messages.HistoryTurn;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;

/**
 * The conversation of one project with the chat model that Carrel's server is set to use. It is kept until a person begins a new one.
 *
 * <p>Methods may be called from any thread and don't wait. Listeners are told on whatever thread the news came.
 */
public final class Conversation {
    private final Memory memory;
    private final List<Turn> turns = new ArrayList<>();
    private final List<ChatMessage> messages = new ArrayList<>();
    private final List<Runnable> listeners = new CopyOnWriteArrayList<>();
    private CompletableFuture<ChatResult> answer;
    /** Tells an answer from those that were cancelled, or whose conversation is over: what still comes of them doesn't count. */
    private int current;

    public Conversation(Memory memory) {
        this.memory = memory;
    }

    public void onChange(Runnable listener) {
        listeners.add(listener);
    }

    public void forgetListener(Runnable listener) {
        listeners.remove(listener);
    }

    /** Oldest first; the last one may still be answered. */
    public synchronized List<Turn> turns() {
        return List.copyOf(turns);
    }

    public synchronized boolean isAnswering() {
        return !turns.isEmpty() && last().answering();
    }

    /** Ask the model, after what was said before. Gives false, and asks nothing, while a question is being answered. */
    public boolean ask(Question question) {
        int number;
        List<ChatMessage> said;
        synchronized (this) {
            if (isAnswering()) {
                return false;
            }
            number = ++current;
            turns.add(Turn.of(question.text()));
            said = Stream.concat(messages.stream(), Stream.of(new ChatMessage("user", question.text()))).toList();
        }
        changed();
        var earlier = said.subList(0, said.size() - 1).stream().map(one -> new HistoryTurn(one.role(), one.content())).toList();
        var asked = memory.chat(question.following(earlier), said, step -> took(number, step));
        synchronized (this) {
            if (number == current) {
                answer = asked;
            } else {
                asked.cancel(true); // taken back meanwhile
            }
        }
        asked.whenComplete((result, error) -> finished(number, said, result, error));
        return true;
    }

    /** Take back the question that is being answered. The next one is not asked after it. */
    public void cancel() {
        synchronized (this) {
            if (!isAnswering()) {
                return;
            }
            stop();
            replaceLast(ended(last(), "", List.of("cancelled")));
        }
        changed();
    }

    /** Begin a new conversation. */
    public void forget() {
        synchronized (this) {
            stop();
            turns.clear();
            messages.clear();
        }
        changed();
    }

    private void took(int number, ChatStep step) {
        synchronized (this) {
            if (number != current || !isAnswering()) {
                return;
            }
            replaceLast(after(last(), step));
        }
        changed();
    }

    private void finished(int number, List<ChatMessage> said, ChatResult result, Throwable error) {
        synchronized (this) {
            if (number != current || !isAnswering()) {
                return;
            }
            if (error != null) {
                replaceLast(ended(last(), "", List.of(Memory.isCancelled(error) ? "cancelled" : Memory.explain(error))));
            } else {
                messages.clear();
                messages.addAll(said);
                messages.add(new ChatMessage("assistant", result.text()));
                var problems = Stream.of(result.pack().error(), problem(result), Boolean.TRUE.equals(result.cut()) ? "The answer was cut off." : null)
                        .filter(Objects::nonNull)
                        .toList();
                replaceLast(new Turn(last().question(), last().steps(), result.text(), result.citations(), problems, result.pack(), false));
            }
        }
        changed();
    }

    /** Of places that don't hold each says so by itself. */
    private static String problem(ChatResult result) {
        return result.citations().stream().allMatch(ChatCitation::ok) ? result.problem() : null;
    }

    /** What came before a tool, or before the model was asked again, is no part of the answer. */
    private static Turn after(Turn turn, ChatStep step) {
        return switch (step.kind()) {
            case "text" -> streamed(turn, turn.steps(), turn.text() + Objects.requireNonNullElse(step.text(), ""));
            case "toolStarted" -> streamed(turn, plus(turn.steps(), step.tool() + about(step.arguments())), "");
            case "toolRefused" -> streamed(turn, plus(turn.steps(), "%s was not run: %s".formatted(step.tool(), oneLine(step.problem()))), "");
            case "askedAgain" -> streamed(turn, plus(turn.steps(), "asked again"), "");
            default -> turn;
        };
    }

    private static Turn streamed(Turn turn, List<String> steps, String text) {
        return new Turn(turn.question(), steps, text, turn.places(), turn.problems(), turn.pack(), true);
    }

    private static Turn ended(Turn turn, String text, List<String> problems) {
        return new Turn(turn.question(), turn.steps(), text, List.of(), problems, null, false);
    }

    /** What a tool was called with, in a few words. */
    private static String about(Map<String, Object> arguments) {
        return Stream.of("query", "path", "name")
                .map(name -> arguments == null ? null : arguments.get(name))
                .filter(String.class::isInstance)
                .findFirst()
                .map(words -> ": " + oneLine((String) words))
                .orElse("");
    }

    private static String oneLine(String words) {
        return words == null ? "" : words.replaceAll("\\p{Cntrl}+", " ").strip();
    }

    private static List<String> plus(List<String> steps, String step) {
        return Stream.concat(steps.stream(), Stream.of(step)).toList();
    }

    private void stop() {
        current++;
        if (answer != null) {
            answer.cancel(true);
            answer = null;
        }
    }

    private Turn last() {
        return turns.get(turns.size() - 1);
    }

    private void replaceLast(Turn turn) {
        turns.set(turns.size() - 1, turn);
    }

    private void changed() {
        listeners.forEach(Runnable::run);
    }
}
