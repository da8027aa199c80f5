//! A workspace as the store and its snapshots share it: its settings, which of its files may be read, and how texts are masked.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::base::error::{Error, Result};
use crate::base::language::{Language, is_for_people};
use crate::base::sync::locked;
use crate::base::types::SkipReason;
use crate::index::cut::CutOptions;
use crate::index::secrets::SecretOptions;
use crate::workspace::editorconfig::charset;
use crate::workspace::folder::{Folder, OpenFile};
use crate::workspace::masking::{Masker, with_masks};
use crate::workspace::read::{Source, has_words, read_source};
use crate::workspace::walk::{AccessPolicy, WalkOptions};

/// What a store is made of.
#[derive(Clone, Debug)]
pub struct StoreConfig {
    /// Folder of the index; it is created. Of no meaning in memory.
    pub directory: PathBuf,
    /// Root of the workspace.
    pub root: PathBuf,
    /// Names the model that makes the vectors: those of another one are made again.
    pub embedder_id: String,
    /// Dimensions of its vectors; 0 where they are kept elsewhere, and this index holds none.
    pub dim: usize,
    /// Which files count.
    pub walk: WalkOptions,
    /// How they are cut.
    pub cut: CutOptions,
    /// Which languages files are in, whatever is in them.
    pub languages: LanguageGlobs,
    /// What counts as a secret, beside the rules.
    pub secrets: SecretOptions,
    /// Keep nothing on disk and read nothing from it: documents come as buffers only.
    pub in_memory: bool,
}

/// Globs, written as in a `.gitignore`, and the languages of the files that they fit.
#[derive(Clone, Debug, Default)]
pub struct LanguageGlobs {
    written: Vec<(String, Language)>,
    globs: Vec<(Gitignore, Language)>,
}

impl LanguageGlobs {
    /// Read pairs of a glob and the name of a language.
    pub fn new(pairs: Vec<(String, String)>) -> Result<Self> {
        let mut read = Self::default();
        for (glob, name) in pairs {
            let Some(language) = Language::from_name(&name) else {
                let names: Vec<&str> = Language::all().map(Language::name).collect();
                return Err(Error::invalid("languages", format!("`{name}` is no language, choose one of {}", names.join(", "))));
            };
            let mut builder = GitignoreBuilder::new("");
            let added = builder.add_line(None, &glob).and_then(|builder| builder.build());
            let matcher = added.map_err(|error| Error::invalid("languages", format!("`{glob}` is no glob: {error}")))?;
            read.globs.push((matcher, language));
            read.written.push((glob, language));
        }
        Ok(read)
    }

    /// Return the language of the last glob that fits.
    fn of(&self, path: &str) -> Option<Language> {
        let fits = |globs: &Gitignore| globs.matched_path_or_any_parents(path, false).is_ignore();
        self.globs.iter().rev().find(|(globs, _)| fits(globs)).map(|(_, language)| *language)
    }
}

/// A workspace: shared by the store that indexes it and by the snapshots that read its files.
pub(crate) struct WorkspaceHandle {
    pub config: StoreConfig,
    /// `None` in memory.
    pub access: Option<AccessPolicy>,
    masker: Masker,
    /// The languages that an editor gives to files which say none themselves.
    editor_languages: Mutex<BTreeMap<String, Language>>,
}

impl WorkspaceHandle {
    pub fn new(config: StoreConfig) -> Result<Self> {
        let access = (!config.in_memory).then(|| AccessPolicy::new(&config.root, &config.walk));
        let masker = Masker::new(&config.secrets)?;
        Ok(Self { config, access, masker, editor_languages: Mutex::default() })
    }

    /// The workspace's root, held open for files that are to be read.
    pub fn root(&self) -> std::result::Result<Folder, SkipReason> {
        self.access.as_ref().ok_or(SkipReason::Gone)?.root()
    }

    /// Read a file that was let pass and mask its secrets; one that holds nothing else is refused. `root` is what
    /// [`WorkspaceHandle::root`] gave.
    pub fn read(&self, root: std::result::Result<&Folder, &SkipReason>, path: &str) -> std::result::Result<Source, SkipReason> {
        let access = self.access.as_ref().ok_or(SkipReason::Gone)?;
        let root = root.map_err(|reason| *reason)?;
        let file = access.open(root, path)?;
        self.mask(path, read_source(file, self.config.walk.max_file_bytes, || charset(root, path))?)
    }

    /// Read a file that questions ask for again and again, and mask its secrets.
    pub fn read_again(&self, opened: OpenFile, path: &str) -> std::result::Result<Source, SkipReason> {
        let named = || self.root().ok().and_then(|root| charset(&root, path));
        let source = read_source(opened, self.config.walk.max_file_bytes, named)?;
        let found = self.masker.look_once(path, &source)?;
        Ok(with_masks(source, &found))
    }

    /// Mask the secrets of a text that was read.
    pub fn mask(&self, path: &str, source: Source) -> std::result::Result<Source, SkipReason> {
        let found = self.masker.look(path, &source.text)?;
        Ok(with_masks(source, &found))
    }

    /// Note which language an editor gives to a file, unless settings do; tell whether that is new.
    pub fn name_language(&self, path: &str, language: Language) -> bool {
        let is_set = self.config.languages.of(path).is_some();
        !is_set && locked(&self.editor_languages).insert(path.to_owned(), language) != Some(language)
    }

    /// Return the files to which editors gave a language.
    pub fn named_by_editors(&self) -> Vec<String> {
        locked(&self.editor_languages).keys().cloned().collect()
    }

    /// Tell the language of a text that was read, or why it is of no use. What is kept in memory only are texts for people.
    pub fn language_of(&self, path: &str, text: &str) -> std::result::Result<Language, SkipReason> {
        let of_editor = || locked(&self.editor_languages).get(path).copied().unwrap_or(Language::OTHER);
        let of_file = || match Language::of_file(path, text) {
            Language::OTHER => of_editor(),
            language => language,
        };
        match self.config.languages.of(path).unwrap_or_else(of_file) {
            Language::OTHER if self.config.in_memory || is_for_people(text) => Ok(Language::TEXT),
            Language::OTHER if !has_words(text) => Err(SkipReason::NoWords),
            language => Ok(language),
        }
    }

    /// Names the rules by which texts are cut, and their languages.
    pub fn cutting_version(&self) -> String {
        let cut = self.config.cut.version();
        let languages = &self.config.languages.written;
        if languages.is_empty() { cut } else { format!("{cut} {languages:?}") }
    }

    /// Names the rules by which texts are masked.
    pub fn masking_version(&self) -> String {
        self.masker.version()
    }

    /// Refuse a buffer whose path may not be read and sent. It need not be on disk.
    pub fn admit_buffer(&self, path: &str) -> std::result::Result<(), SkipReason> {
        self.access.as_ref().map_or(Ok(()), |access| access.check_unsaved(path))
    }
}
