//! The modules of the core form layers: none uses a module of a higher layer, and none uses itself by way of others.
//!
//! A module is a file or folder directly below the folder of a layer. What it uses is read from the paths in its source that begin
//! with `crate`, `self` or `super`, inside `use` and outside, in tests and macros too. Comments, and so links in documentation,
//! don't count. `docs/architecture-graph.md` shows the graph; this test compares it, and prints the true one if it differs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// From the lowest to the highest.
const LAYERS: [&str; 5] = ["base", "formats", "index", "query", "workspace"];

/// A layer and a module in it.
type Module = (String, String);
/// What each module uses.
type Graph = BTreeMap<Module, BTreeSet<Module>>;

/// The graph of the sources in `src`, and what in them breaks a rule.
fn read_sources(src: &Path) -> (Graph, Vec<String>) {
    let (mut graph, mut faults) = (Graph::new(), Vec::new());
    let mut files = Vec::new();
    collect(src, &mut Vec::new(), &mut files);
    for (path, text) in &files {
        match path.as_slice() {
            [] => {}
            [layer, _, ..] if LAYERS.contains(&layer.as_str()) => {
                graph.entry((layer.clone(), path[1].clone())).or_default();
            }
            // A name that a layer re-exports would hide which module it belongs to.
            [layer] if LAYERS.contains(&layer.as_str()) => {
                if let Some(line) = text.lines().find(|line| !is_declaration(line)) {
                    faults.push(format!("{layer}/mod.rs may only declare modules, but has: {line}"));
                }
            }
            _ => faults.push(format!("{} is in no layer: {LAYERS:?}", path.join("/"))),
        }
    }
    for (path, text) in &files {
        let [layer, module, ..] = path.as_slice() else { continue };
        let user = (layer.clone(), module.clone());
        for named in paths(text, path) {
            match named.as_slice() {
                [layer, module, ..] if graph.contains_key(&(layer.clone(), module.clone())) => {
                    let target = (layer.clone(), module.clone());
                    if target != user {
                        graph.entry(user.clone()).or_default().insert(target);
                    }
                }
                _ => {
                    faults.push(format!("{} uses crate::{}, which names no module of a layer", path.join("/"), named.join("::")));
                }
            }
        }
    }
    (graph, faults)
}

/// Every source file with the path of its module.
fn collect(folder: &Path, path: &mut Vec<String>, files: &mut Vec<(Vec<String>, String)>) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_dir() {
            path.push(name);
            collect(&entry.path(), path, files);
            path.pop();
        } else if let Some(module) = name.strip_suffix(".rs") {
            let mut path = path.clone();
            if module != "mod" && module != "lib" {
                path.push(module.to_owned());
            }
            files.push((path, std::fs::read_to_string(entry.path()).unwrap()));
        }
    }
}

fn is_declaration(line: &str) -> bool {
    let line = line.trim();
    let module = line.strip_prefix("pub(crate) ").or_else(|| line.strip_prefix("pub ")).unwrap_or(line);
    line.is_empty() || line.starts_with("//") || (module.starts_with("mod ") && module.ends_with(';'))
}

/// The absolute paths that the source of a module names, each without `crate`.
fn paths(text: &str, module: &[String]) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    walk(text.parse().expect("valid Rust"), &mut module.to_vec(), &mut found);
    found
}

fn walk(tokens: TokenStream, module: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut i = 0;
    while i < tokens.len() {
        match &tokens[i] {
            TokenTree::Ident(word) if word == "mod" => {
                if let (Some(TokenTree::Ident(name)), Some(TokenTree::Group(body))) = (tokens.get(i + 1), tokens.get(i + 2)) {
                    module.push(name.to_string());
                    walk(body.stream(), module, found);
                    module.pop();
                    i += 2;
                }
            }
            TokenTree::Ident(word) if word == "crate" || word == "super" || word == "self" => {
                i = path_at(&tokens, i, Vec::new(), module, found);
                continue;
            }
            TokenTree::Group(group) => walk(group.stream(), module, found),
            _ => {}
        }
        i += 1;
    }
}

/// Read the path that begins at token `i`, with the paths of a group that it ends in, and give the place after it.
fn path_at(tokens: &[TokenTree], mut i: usize, prefix: Vec<String>, module: &[String], found: &mut Vec<Vec<String>>) -> usize {
    let mut path = prefix;
    loop {
        match tokens.get(i) {
            Some(TokenTree::Ident(name)) => path.push(name.to_string()),
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                let is_comma = |token: &TokenTree| matches!(token, TokenTree::Punct(mark) if mark.as_char() == ',');
                for branch in inner.split(is_comma).filter(|branch| !branch.is_empty()) {
                    path_at(branch, 0, path.clone(), module, found);
                }
                return i + 1;
            }
            // `::*`, or the type arguments of `::<`.
            _ => break,
        }
        i += 1;
        let is_colon = |at: usize| matches!(tokens.get(at), Some(TokenTree::Punct(mark)) if mark.as_char() == ':');
        if !(is_colon(i) && is_colon(i + 1)) {
            break;
        }
        i += 2;
    }
    // A lone word is `pub(crate)`, a receiver, or `self` in a group, whose prefix is a path already.
    if path.len() > 1 {
        found.push(absolute(&path, module));
    }
    i
}

fn absolute(path: &[String], module: &[String]) -> Vec<String> {
    let mut base = if path[0] == "crate" { Vec::new() } else { module.to_vec() };
    let mut rest = &path[1..];
    if path[0] == "super" {
        base.pop();
        while let [first, after @ ..] = rest
            && first == "super"
        {
            base.pop();
            rest = after;
        }
    }
    let names = rest.iter().filter(|name| *name != "self").cloned();
    base.into_iter().chain(names).collect()
}

fn rank(module: &Module) -> usize {
    LAYERS.iter().position(|layer| *layer == module.0).unwrap()
}

fn name((layer, module): &Module) -> String {
    format!("{layer}::{module}")
}

/// Uses of a higher layer.
fn upward(graph: &Graph) -> Vec<String> {
    let uses = graph.iter().flat_map(|(user, used)| used.iter().map(move |used| (user, used)));
    uses.filter(|(user, used)| rank(used) > rank(user))
        .map(|(user, used)| format!("{} uses {}, which is in a higher layer", name(user), name(used)))
        .collect()
}

/// Modules that use themselves by way of others: what is left when those that use nothing, and those that nothing uses, are taken
/// away again and again.
fn cycles(graph: &Graph) -> Vec<String> {
    let mut left = graph.clone();
    let is_end = |left: &Graph, module: &Module| left[module].is_empty() || !left.values().any(|used| used.contains(module));
    while let Some(end) = left.keys().find(|module| is_end(&left, module)).cloned() {
        left.remove(&end);
        for used in left.values_mut() {
            used.remove(&end);
        }
    }
    let uses = |used: &BTreeSet<Module>| used.iter().map(name).collect::<Vec<_>>().join(", ");
    left.iter().map(|(module, used)| format!("a cycle: {} uses {}", name(module), uses(used))).collect()
}

/// The graph as a Mermaid diagram. Every module may use `base`, so those arrows are left out.
fn diagram(graph: &Graph) -> String {
    let mut out = vec!["flowchart TB".to_owned()];
    for layer in LAYERS.iter().rev() {
        out.push(format!(" subgraph {layer}"));
        out.extend(graph.keys().filter(|module| module.0 == *layer).map(|m| format!("  {}_{}[{}]", m.0, m.1, m.1)));
        out.push(" end".to_owned());
    }
    for (user, used) in graph {
        let drawn = used.iter().filter(|used| used.0 != "base" || user.0 == "base");
        let names: Vec<_> = drawn.map(|used| format!("{}_{}", used.0, used.1)).collect();
        if !names.is_empty() {
            out.push(format!(" {}_{} --> {}", user.0, user.1, names.join(" & ")));
        }
    }
    out.join("\n")
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn modules_use_lower_layers_only_and_form_no_cycle() {
    let (graph, mut faults) = read_sources(&root().join("src"));
    faults.extend(upward(&graph));
    faults.extend(cycles(&graph));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(graph.len() > LAYERS.len() && LAYERS.iter().all(|layer| graph.keys().any(|module| module.0 == *layer)));
}

#[test]
fn the_drawing_is_true() {
    let drawn = std::fs::read_to_string(root().join("../../docs/architecture-graph.md")).unwrap().replace("\r\n", "\n");
    let diagram = diagram(&read_sources(&root().join("src")).0);
    let expected = format!("```mermaid\n{diagram}\n```\n");
    assert!(drawn.contains(&expected), "docs/architecture-graph.md must hold this diagram:\n\n{expected}");
}

#[test]
fn all_ways_to_name_a_module_are_seen() {
    let source = r#"
        //! crate::query::comment
        use crate::base::{self, error::{Error, Result}, sync::*};
        use super::sibling;
        pub(crate) fn f(&self) -> crate::index::cut::Cut { g!(crate::formats::bytes::<u8>()); "crate::query::text"; self.x() }
        mod tests { use super::inner; use super::super::sibling_of_file; use self::own::Item; }
    "#;
    let here = ["index", "cut", "file"].map(str::to_owned);
    let found: Vec<String> = paths(source, &here).iter().map(|path| path.join("::")).collect();
    let expected = [
        "base",
        "base::error::Error",
        "base::error::Result",
        "base::sync",
        "index::cut::sibling",
        "index::cut::Cut",
        "formats::bytes",
        "index::cut::file::inner",
        "index::cut::sibling_of_file",
        "index::cut::file::tests::own::Item",
    ];
    assert_eq!(found, expected);
}

#[test]
fn arrows_upward_and_cycles_are_found() {
    let module = |name: &str| {
        let (layer, module) = name.split_once("::").unwrap();
        (layer.to_owned(), module.to_owned())
    };
    let graph = |uses: &[(&str, &str)]| {
        let mut graph = Graph::new();
        for (user, used) in uses {
            graph.entry(module(used)).or_default();
            graph.entry(module(user)).or_default().insert(module(used));
        }
        graph
    };
    let down = graph(&[("query::a", "base::b"), ("query::a", "query::c"), ("query::c", "base::b")]);
    assert!(upward(&down).is_empty() && cycles(&down).is_empty());
    assert_eq!(upward(&graph(&[("base::b", "query::a")])), ["base::b uses query::a, which is in a higher layer"]);
    let round = cycles(&graph(&[
        ("query::a", "query::b"),
        ("query::b", "query::c"),
        ("query::c", "query::a"),
        ("query::c", "base::d"),
        ("query::e", "query::a"),
    ]));
    let expected = ["a uses query::b", "b uses query::c", "c uses query::a"];
    assert_eq!(round, expected.map(|uses| format!("a cycle: query::{uses}")));
}
