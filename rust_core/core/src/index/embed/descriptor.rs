//! The text that a remote model embeds for a chunk: a descriptor in words, then the code.

use crate::base::types::{Chunk, ChunkKind};

/// Descriptor lines, an empty line, the body.
pub fn embedded_text(path: &str, chunk: &Chunk, body: &str) -> String {
    let mut text = String::with_capacity(body.len() + path.len() + 96);
    if !chunk.symbol.is_empty() {
        text.push_str(label(chunk));
        text.push_str(": ");
        text.push_str(&chunk.symbol);
        text.push('\n');
    }
    text.push_str("File: ");
    text.push_str(path);
    // A method's symbol names its class already.
    if !chunk.container.is_empty() && !chunk.symbol.starts_with(&chunk.container) {
        text.push_str("\nInside: ");
        text.push_str(&chunk.container);
    }
    text.push_str("\n\n");
    text.push_str(body);
    text
}

fn label(chunk: &Chunk) -> &'static str {
    match chunk.kind {
        ChunkKind::Function if chunk.signature.contains("=>") => "Function (Arrow) name",
        ChunkKind::Function => "Function name",
        ChunkKind::Method => "Method name",
        ChunkKind::Class | ChunkKind::ClassHeader => "Class name",
        ChunkKind::Declaration => "Declaration",
        ChunkKind::Section | ChunkKind::Text => "Section",
        ChunkKind::Cell => "Notebook cell",
        ChunkKind::Lines => "Lines",
    }
}

#[cfg(test)]
mod tests {
    use super::embedded_text;
    use crate::base::types::{Chunk, ChunkKind, Span};

    fn chunk(kind: ChunkKind, symbol: &str, container: &str, signature: &str) -> Chunk {
        let span = Span { start_byte: 0, end_byte: 1, start_line: 1, end_line: 1 };
        let (symbol, container, signature) = (symbol.to_owned(), container.to_owned(), signature.to_owned());
        Chunk { id: 0, span, kind, symbol, container, signature, definitions: vec![] }
    }

    #[test]
    fn begins_with_what_it_is() {
        let check = |chunk: &Chunk, expected: &str| assert_eq!(embedded_text("src/a.ts", chunk, "x"), expected);
        check(&chunk(ChunkKind::Function, "f", "", "const f = () =>"), "Function (Arrow) name: f\nFile: src/a.ts\n\nx");
        check(&chunk(ChunkKind::Method, "A.f", "A", "f()"), "Method name: A.f\nFile: src/a.ts\n\nx");
        check(&chunk(ChunkKind::Declaration, "", "outer", ""), "File: src/a.ts\nInside: outer\n\nx");
    }
}
