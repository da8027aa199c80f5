//! Look around a name that promises a secret: behind it, in its table, its sentence, its list, before and below it.

use super::named::{self, Name};
use super::surroundings::{Surroundings, comment_behind};
use super::tables::{self, Layout};
use super::values::{Class, Style, is_secret, is_strong};
use super::work::Work;
use super::{beside, foreign, sentences, several};
use crate::base::language::Language;

type Range = (usize, usize);

/// A text, and what is known of it so far.
pub(super) struct Around<'a> {
    text: &'a str,
    style: Style,
    layout: Option<Layout>,
    surroundings: Surroundings,
    pub work: Work,
}

impl<'a> Around<'a> {
    pub fn new(path: &str, text: &'a str, style: Style) -> Self {
        let language = Language::detect(path);
        let layout = match language {
            Some(Language::CSV) => Some(Layout::Records),
            Some(language) if language.is_markup() => Some(Layout::Markup),
            _ => (style == Style::Prose).then_some(Layout::Text),
        };
        Self { text, style, layout, surroundings: Surroundings::new(language, text.len()), work: Work::for_length(text.len()) }
    }

    /// Return the secrets of the name around `start..end`, each with its rule.
    pub fn secrets(&mut self, start: usize, end: usize) -> Vec<(&'static str, Range)> {
        let (bytes, style) = (self.text.as_bytes(), self.style);
        let place = named::name_around(bytes, start, end);
        let name = place.and_then(|place| named::promised(bytes, place, style));
        let mut found = self.of_name(name, (start, end));
        if let Some(name) = place.and_then(|place| named::plural(bytes, place, name, style)) {
            found.extend(self.of_plural(name).into_iter().map(|range| (rule_of(name.2), range)));
        }
        found
    }

    /// Return the secrets of a list or map. In one of tokens any word may stand: those of machines are long.
    fn of_plural(&mut self, name: Name) -> Vec<Range> {
        let (bytes, style, class) = (self.text.as_bytes(), self.style, name.2);
        let values = several::values(bytes, name, style, &mut self.work).into_iter();
        let long = |(first, last): Range| class == Class::Password || last - first >= tables::SHORTEST_TOKEN;
        let values = values.filter(|&(range, quoted)| long(range) && self.is_secret(range, class, style, quoted));
        values.map(|(range, _)| range).collect()
    }

    /// The same for a word of another language, whose secrets are more than words.
    pub fn foreign_secrets(&mut self, start: usize, end: usize) -> Vec<(&'static str, Range)> {
        let name = foreign::name_at(self.text.as_bytes(), start, end);
        let mut found = self.of_name(name, (start, end));
        found.retain(|&(_, (first, last))| self.text.get(first..last).is_some_and(foreign::is_more_than_a_word));
        found
    }

    /// Return the password of the login that the word at `start..end` announces.
    pub fn login(&mut self, start: usize, end: usize) -> Option<Range> {
        let bytes = self.text.as_bytes();
        let range =
            beside::login(bytes, start, end).filter(|&range| self.is_secret(range, Class::Password, Style::Prose, false))?;
        let for_people = match self.style {
            Style::Code => self.surroundings.are_for_people(bytes, start),
            style => style == Style::Prose,
        };
        for_people.then_some(range)
    }

    fn of_name(&mut self, name: Option<Name>, place: Range) -> Vec<(&'static str, Range)> {
        let bytes = self.text.as_bytes();
        if let Some(name) = name
            && let Some(range) = named::value_of(bytes, name, self.style, &mut self.surroundings)
        {
            return vec![(rule_of(name.2), range)];
        }
        let cells = self.layout.map(|layout| tables::values(bytes, place, layout, &mut self.work)).unwrap_or_default();
        let mut found: Vec<_> = cells.into_iter().map(|range| ("table", range)).collect();
        if let Some(name) = name.filter(|_| self.work.take(sentences::LONGEST)) {
            found.extend(self.elsewhere(name).into_iter().map(|range| (rule_of(name.2), range)));
        }
        found
    }

    /// Return the secrets that stand elsewhere than behind their name.
    fn elsewhere(&mut self, name: Name) -> Vec<Range> {
        let (bytes, style) = (self.text.as_bytes(), self.style);
        let (from, to, class) = name;
        let mut found = beside::values(bytes, from, to, &mut self.work);
        found.retain(|&range| self.is_secret(range, class, style, true));
        if named::is_mention(bytes, name, style) {
            found.extend(sentences::secrets(bytes, name));
        } else if let Some(comment) = comment_behind(bytes, to).filter(|_| class == Class::Password) {
            found.extend(sentences::chosen(bytes, comment));
        }
        if style == Style::Config {
            let is_made = |&(first, last): &Range| self.text.get(first..last).is_some_and(is_strong);
            found.extend(beside::listed(bytes, to).into_iter().filter(is_made));
        }
        if style == Style::Prose {
            found.extend(beside::below(bytes, from, to).filter(|&range| self.is_secret(range, class, style, false)));
        }
        found
    }

    fn is_secret(&self, (first, last): Range, class: Class, style: Style, quoted: bool) -> bool {
        self.text.get(first..last).is_some_and(|value| is_secret(value, class, style, quoted))
    }
}

fn rule_of(class: Class) -> &'static str {
    match class {
        Class::Password => "password",
        Class::Token | Class::Secret => "token",
        Class::Login => "login",
    }
}
