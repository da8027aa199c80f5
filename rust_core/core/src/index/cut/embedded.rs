//! Files that hold code of several languages: where each language stands in them.
//!
//! The form of a file says where (blocks between tags, marks around code, fences), and one table says which form which files have.
//! Each region is then cut by the rules of its own language.

use std::ops::Range;

use super::piece::Piece;
use crate::base::language::Language;

/// How a file holds code of another language.
enum Form {
    /// Between a start tag and its end tag, in this language unless `lang` or `type` in the tag names another.
    Tag(&'static str, Language),
    /// Between `<%` and `%>`. All of it is one program.
    Percent(Language),
    /// Between two lines of `---` at the head of the file.
    FrontMatter(Language),
    /// Between the braces that follow one of these words at the head of a line.
    Braces(&'static [&'static str], Language),
    /// In fences that name a language.
    Fences,
}

/// Which files hold code of other languages, by their language and the ending of their name (empty: whatever it is).
const FORMS: &[(&[Language], &str, Form)] = &[
    (PAGES, "", Form::Tag("script", Language::TYPESCRIPT)),
    (PAGES, "", Form::Tag("style", Language::CSS)),
    (&[Language::SVELTE], "astro", Form::FrontMatter(Language::TYPESCRIPT)),
    (&[Language::TEMPLATE], "erb", Form::Percent(Language::RUBY)),
    (&[Language::TEMPLATE], "ejs", Form::Percent(Language::TYPESCRIPT)),
    (&[Language::TEMPLATE], "jsp", Form::Percent(Language::JAVA)),
    (&[Language::TEMPLATE], "eex", Form::Percent(Language::ELIXIR)),
    (&[Language::TEMPLATE], "leex", Form::Percent(Language::ELIXIR)),
    (&[Language::TEMPLATE], "heex", Form::Percent(Language::ELIXIR)),
    (&[Language::TEMPLATE], "razor", Form::Braces(RAZOR, Language::CSHARP)),
    (&[Language::TEMPLATE], "cshtml", Form::Braces(RAZOR, Language::CSHARP)),
    (&[Language::MARKDOWN], "", Form::Fences),
];
const PAGES: &[Language] = &[Language::HTML, Language::VUE, Language::SVELTE, Language::PHP, Language::TEMPLATE];

const RAZOR: &[&str] = &["@code", "@functions"];

/// Code of one language within a file: one stretch, or several that are one program.
pub struct Region {
    /// The language of the code.
    pub language: Language,
    /// Where it stands, with the tags or fences around it.
    pub outer: Range<usize>,
    /// Where its code stands; never empty.
    ranges: Vec<Range<usize>>,
}

impl Region {
    fn of(language: Language, outer: Range<usize>, code: Range<usize>) -> Self {
        Self { language, outer, ranges: std::iter::once(code).collect() }
    }

    /// Where its code begins.
    pub fn start(&self) -> usize {
        self.ranges.first().map_or(0, |range| range.start)
    }

    /// Return the code from [`Self::start`] on, with blanks for what stands between its stretches, so that offsets stay.
    pub fn code(&self, text: &str) -> String {
        let mut code = String::new();
        let mut at = self.start();
        for range in &self.ranges {
            // The mark that ends a stretch ends its statement, too.
            code.extend(text[at..range.start].bytes().enumerate().map(|(place, byte)| match byte {
                b'\n' | b'\r' => byte as char,
                _ if place == 0 => ';',
                _ => ' ',
            }));
            code.push_str(&text[range.clone()]);
            at = range.end;
        }
        code
    }
}

/// Tell whether files of `language` are blocks of other languages and nothing else: each block is cut by itself then. In other files
/// only code that defines something is.
pub fn is_made_of_blocks(language: Language) -> bool {
    matches!(language, Language::VUE | Language::SVELTE)
}

/// Say that a file is a component that is called like it, where its language has one a file: what says the name defines it, else what
/// stands first.
pub fn name_component(path: &str, language: Language, text: &str, pieces: &mut [Piece]) {
    let name = path.rsplit('/').next().unwrap_or(path).split('.').next().unwrap_or_default();
    let is_name = name.starts_with(char::is_alphabetic) && name.chars().all(|c| c.is_alphanumeric() || "_-".contains(c));
    if !is_made_of_blocks(language) || !is_name || name == "index" || pieces.iter().any(|piece| piece.defines(name)) {
        return;
    }
    let says = pieces.iter().position(|piece| text[piece.start..piece.end].contains(name));
    if let Some(piece) = pieces.get_mut(says.unwrap_or(0)) {
        if piece.symbol.is_empty() {
            name.clone_into(&mut piece.symbol);
        }
        piece.definitions.insert(0, name.to_owned());
    }
}

/// Return the regions of `text`, in its order. None begins in another.
pub fn regions(path: &str, language: Language, text: &str) -> Vec<Region> {
    let ending = path.rsplit('.').next().unwrap_or_default();
    let mut regions = Vec::new();
    for (languages, of, form) in FORMS {
        if languages.contains(&language) && (of.is_empty() || ending.eq_ignore_ascii_case(of)) {
            match form {
                Form::Tag(tag, usual) => tags(text, tag, *usual, &mut regions),
                Form::Percent(language) => percent(text, *language, &mut regions),
                Form::Braces(words, language) => braces(text, words, *language, &mut regions),
                Form::FrontMatter(language) => front_matter(text, *language, &mut regions),
                Form::Fences => fences(text, &mut regions),
            }
        }
    }
    regions.sort_by_key(|region| region.outer.start);
    let mut end = 0;
    regions.retain(|region| {
        let apart = region.outer.start >= end;
        if apart && region.ranges.len() == 1 {
            end = region.outer.end;
        }
        apart
    });
    regions
}

fn tags(text: &str, tag: &str, usual: Language, regions: &mut Vec<Region>) {
    let lower = text.to_ascii_lowercase();
    let closing = format!("</{tag}");
    if !lower.contains(&closing) {
        return;
    }
    let mut at = 0;
    while let Some(next) = lower[at..].find('<') {
        at += next;
        // Neither in comments nor in PHP's own code.
        let skipped = [("<!--", "-->"), ("<?", "?>")].into_iter().find(|(open, _)| lower[at..].starts_with(open));
        if let Some((_, close)) = skipped {
            at += lower[at..].find(close).unwrap_or(lower.len() - at);
            continue;
        }
        at += 1;
        let Some(rest) = lower[at..].strip_prefix(tag).filter(|rest| rest.starts_with(|c: char| c == '>' || c.is_whitespace()))
        else {
            continue;
        };
        let (begins, attributes) = (at - 1, lower.len() - rest.len());
        let Some(start) = tag_end(&lower, attributes) else { return };
        let Some(end) = lower[start..].find(&closing).map(|length| start + length) else { return };
        if let Some(language) = language_of_tag(&lower[attributes..start - 1], usual)
            && end > start
        {
            let outer = begins..lower[end..].find('>').map_or(lower.len(), |length| end + length + 1);
            regions.push(Region::of(language, outer, start..end));
        }
        at = end;
    }
}

/// Return one past the `>` that ends the tag whose attributes begin at `at`.
fn tag_end(text: &str, at: usize) -> Option<usize> {
    let mut quote = None;
    for (place, byte) in text.bytes().enumerate().skip(at) {
        match (quote, byte) {
            (None, b'>') => return Some(place + 1),
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), _) if open == byte => quote = None,
            _ => {}
        }
    }
    None
}

/// Return the language that a tag's attributes name (`lang="ts"`, `type="text/x-template"`): the usual one where they name none.
fn language_of_tag(attributes: &str, usual: Language) -> Option<Language> {
    let value = ["lang", "type"].iter().find_map(|name| {
        let (before, rest) = attributes.split_once(&format!("{name}="))?;
        let is_whole = before.is_empty() || before.ends_with(char::is_whitespace);
        is_whole.then(|| rest.trim_start_matches(['"', '\'']).split(['"', '\'', ' ']).next().unwrap_or_default())
    });
    match value.map(|value| value.rsplit(['/', '-']).next().unwrap_or_default()) {
        None | Some("" | "module" | "javascript" | "babel" | "css") => Some(usual),
        Some(word) => language_of_word(word),
    }
}

/// Return the language of a name or an extension: `python`, `py`.
fn language_of_word(word: &str) -> Option<Language> {
    Language::from_name(word).or_else(|| Language::detect(&format!("code.{word}"))).or(match word {
        "shell" | "console" => Some(Language::BASH),
        "golang" => Some(Language::GO),
        "csharp" | "c#" => Some(Language::CSHARP),
        "node" => Some(Language::JAVASCRIPT),
        _ => None,
    })
}

fn braces(text: &str, words: &[&str], language: Language, regions: &mut Vec<Region>) {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let rest = words.iter().find_map(|word| line.trim_start().strip_prefix(word));
        let Some(open) = rest.filter(|rest| rest.trim().is_empty() || rest.trim_start().starts_with('{')).and_then(|rest| {
            let from = at - rest.len();
            text[from..].find(|c: char| !c.is_whitespace()).map(|gap| from + gap).filter(|&place| text[place..].starts_with('{'))
        }) else {
            continue;
        };
        let mut depth = 0_usize;
        let close = text[open..].bytes().position(|byte| {
            depth = match byte {
                b'{' => depth + 1,
                b'}' => depth.saturating_sub(1),
                _ => depth,
            };
            depth == 0
        });
        let end = close.map_or(text.len(), |length| open + length);
        if end > open + 1 {
            regions.push(Region::of(language, start..(end + 1).min(text.len()), open + 1..end));
        }
    }
}

fn percent(text: &str, language: Language, regions: &mut Vec<Region>) {
    let mut ranges = Vec::new();
    let mut at = 0;
    while let Some(open) = text[at..].find("<%") {
        let start = at + open + 2;
        let Some(length) = text[start..].find("%>") else { break };
        at = start + length + 2;
        let inside = &text[start..start + length];
        // `<%#` and `<%--` are comments, `<%@` is an instruction, `<%%` stands for itself.
        if inside.starts_with(['#', '@', '%']) || inside.starts_with("--") {
            continue;
        }
        let code = inside.trim_start_matches(['=', '-', '!', '_']);
        let end = start + inside.trim_end_matches(['-', '_']).len();
        ranges.push(start + inside.len() - code.len()..end.max(start + inside.len() - code.len()));
    }
    if let (Some(first), Some(last)) = (ranges.first(), ranges.last()) {
        regions.push(Region { language, outer: first.start..last.end, ranges });
    }
}

fn front_matter(text: &str, language: Language, regions: &mut Vec<Region>) {
    let start = text.len() - text.trim_start().len();
    if text[start..].starts_with("---")
        && let Some(length) = text[start + 3..].find("\n---")
    {
        let end = start + 3 + length + 1;
        regions.push(Region::of(language, start..end + 3, start + 3..end));
    }
}

fn fences(text: &str, regions: &mut Vec<Region>) {
    let mut open: Option<(&str, Range<usize>, Option<Language>)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let content = line.trim();
        let Some(mark) = ["```", "~~~"].into_iter().find(|mark| content.starts_with(mark)) else { continue };
        let after = content.trim_start_matches(&mark[..1]);
        let fence = &content[..content.len() - after.len()];
        match &open {
            None => {
                let word =
                    after.trim_start_matches([' ', '{', '.']).split([' ', ',', '}', '{', ':', '\t']).next().unwrap_or_default();
                open = Some((fence, start..at, language_of_word(&word.to_lowercase())));
            }
            Some((opening, from, language)) if after.is_empty() && fence.starts_with(opening) => {
                if let Some(language) = language.filter(|_| start > from.end) {
                    regions.push(Region::of(language, from.start..start + line.trim_end().len(), from.end..start));
                }
                open = None;
            }
            Some(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, text: &str, expected: &[(&str, &str)]) {
        let language = Language::detect(path).unwrap();
        let found: Vec<_> = regions(path, language, text).iter().map(|r| (r.language.name(), r.code(text))).collect();
        let found: Vec<_> = found.iter().map(|(name, code)| (*name, code.trim())).collect();
        assert_eq!(found, expected, "{path}");
    }

    #[test]
    fn each_form_is_found_with_its_language() {
        check(
            "a.vue",
            "<template><p/></template>\n<SCRIPT setup lang=\"ts\" generic=\"T extends A<B>\">\na()\n</SCRIPT>\n<style lang='scss'>b{}</style>",
            &[("typescript", "a()"), ("scss", "b{}")],
        );
        check("a.svelte", "<script>a()</script>\n<p>{a}</p>", &[("typescript", "a()")]);
        check(
            "a.astro",
            "---\nconst a = 1\n---\n<p/>\n<script>b()</script>",
            &[("typescript", "const a = 1"), ("typescript", "b()")],
        );
        check("a.html", "<!-- <script>no()</script> --><script type=\"application/ld+json\">{}</script>", &[]);
        check("a.html", "<script type=\"text/python\">f()</script><scripts>x</scripts>", &[("python", "f()")]);
        check("a.php", "<?php f('<script>no</script>'); ?><script>g()</script>", &[("typescript", "g()")]);
        check("a.php", "<?php f('<script>no</script>');", &[]);
        check("a.html.erb", "<%# no %><% if a -%>\n<b><%= c %></b>\n<% end %>", &[("ruby", "if a ;  \n       c ;     \n   end")]);
        check("a.jsp", "<%@ page %><%! int f() { return 1; } %>", &[("java", "int f() { return 1; }")]);
        check(
            "a.razor",
            "<p>@code</p>\n@code\n{\n  int F() { return 1; }\n}\n@functions { int a; }",
            &[("c-sharp", "int F() { return 1; }"), ("c-sharp", "int a;")],
        );
        check("a.cshtml", "@code { int a;", &[("c-sharp", "int a;")]);
        check("a.cshtml", "@codes { int a; }\n@code is said", &[]);
        check(
            "a.md",
            "```python\ndef f(): pass\n```\n\n```\nplain\n```\n~~~~{r, echo=F}\nx <- 1\n~~~\n~~~~\n```nothing\n```\n",
            &[("python", "def f(): pass"), ("r", "x <- 1\n~~~")],
        );
    }
}
