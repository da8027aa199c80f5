//! Chunk records: everything of a [`Chunk`] but its id, each written as the difference from the one before.
//!
//! ```text
//! flags 1      bits 0-3 kind, 4 FRESH, 5 SAME_CONTAINER, 6 IN_CONTAINER, 7 DEFINES_NAME
//! zigzag       start byte, minus end byte of the record before (0 when FRESH)
//! zigzag       bytes
//! zigzag       start line, minus end line of the record before
//! zigzag       lines - 1
//! text         container, unless SAME_CONTAINER
//! text         symbol; without `container.` when IN_CONTAINER
//! bytes        signature, see `segment/signature.rs`
//! varint, text each: definitions, unless DEFINES_NAME (then the symbol's last part is the only one)
//! ```

use super::signature;
use crate::base::types::{Chunk, ChunkKind, Span};
use crate::formats::bytes::{Cursor, put_bytes, put_varint, put_zigzag};

const KIND: u8 = 0x0f;
const FRESH: u8 = 0x10;
const SAME_CONTAINER: u8 = 0x20;
const IN_CONTAINER: u8 = 0x40;
const DEFINES_NAME: u8 = 0x80;

/// What the record before left: written and read records must go through the same states.
#[derive(Clone, Debug, Default)]
pub struct RecordState {
    end_byte: u32,
    end_line: u32,
    container: String,
}

/// The part of a chunk that is kept in its record.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Its kind.
    pub kind: ChunkKind,
    /// Its place.
    pub span: Span,
    /// Text after `container.`, or the whole symbol.
    name: &'a str,
    in_container: bool,
    signature: &'a [u8],
    /// `None`: the name is the only definition.
    definitions: Option<&'a [u8]>,
}

/// `Server` of `Server (header)`, else the name itself.
fn bare(name: &str) -> &str {
    name.strip_suffix(" (header)").unwrap_or(name)
}

/// Append the record of `chunk`. `fresh` begins anew: at the first chunk of a file and of a block.
pub fn put(out: &mut Vec<u8>, state: &mut RecordState, chunk: &Chunk, fresh: bool) {
    if fresh {
        *state = RecordState::default();
    }
    let inside = (!chunk.container.is_empty())
        .then(|| chunk.symbol.strip_prefix(chunk.container.as_str()).and_then(|rest| rest.strip_prefix('.')))
        .flatten();
    let name = inside.unwrap_or(&chunk.symbol);
    let defines_name = matches!(chunk.definitions.as_slice(), [only] if only == bare(name));
    let same_container = chunk.container == state.container;
    let flag = |on: bool, bit: u8| if on { bit } else { 0 };
    out.push(
        chunk.kind as u8
            | flag(fresh, FRESH)
            | flag(same_container, SAME_CONTAINER)
            | flag(inside.is_some(), IN_CONTAINER)
            | flag(defines_name, DEFINES_NAME),
    );
    let span = chunk.span;
    put_zigzag(out, span.start_byte as i64 - state.end_byte as i64);
    put_zigzag(out, span.end_byte as i64 - span.start_byte as i64);
    put_zigzag(out, span.start_line as i64 - state.end_line as i64);
    put_zigzag(out, span.end_line as i64 - span.start_line as i64);
    if !same_container {
        put_bytes(out, chunk.container.as_bytes());
        state.container.clone_from(&chunk.container);
    }
    put_bytes(out, name.as_bytes());
    let mut packed = Vec::with_capacity(chunk.signature.len());
    signature::pack(&chunk.signature, bare(name), &mut packed);
    put_bytes(out, &packed);
    if !defines_name {
        let mut list = Vec::new();
        for definition in &chunk.definitions {
            put_bytes(&mut list, definition.as_bytes());
        }
        put_varint(out, list.len() as u64);
        out.extend_from_slice(&list);
    }
    (state.end_byte, state.end_line) = (span.end_byte, span.end_line);
}

/// Read the next record; what it shares with those before is in `state`.
pub fn take<'a>(cursor: &mut Cursor<'a>, state: &mut RecordState) -> Record<'a> {
    let flags = cursor.byte();
    if flags & FRESH != 0 {
        (state.end_byte, state.end_line) = (0, 0);
        state.container.clear();
    }
    let mut number = |from: u32| (from as i64).wrapping_add(cursor.zigzag()).clamp(0, u32::MAX as i64) as u32;
    let start_byte = number(state.end_byte);
    let end_byte = number(start_byte);
    let start_line = number(state.end_line);
    let end_line = number(start_line);
    if flags & SAME_CONTAINER == 0 {
        state.container.clear();
        state.container.push_str(cursor.text());
    }
    (state.end_byte, state.end_line) = (end_byte, end_line);
    Record {
        kind: kind_of(flags & KIND),
        span: Span { start_byte, end_byte, start_line, end_line },
        name: cursor.text(),
        in_container: flags & IN_CONTAINER != 0,
        signature: cursor.bytes(),
        definitions: (flags & DEFINES_NAME == 0).then(|| cursor.bytes()),
    }
}

impl Record<'_> {
    /// The chunk, given its id and the state right after [`take`].
    pub fn to_chunk(self, id: u128, state: &RecordState) -> Chunk {
        let symbol = self.symbol(state);
        let mut definitions = Vec::new();
        self.each_definition(|definition| definitions.push(definition.to_owned()));
        Chunk {
            id,
            span: self.span,
            kind: self.kind,
            symbol,
            container: state.container.clone(),
            signature: signature::unpack(self.signature, bare(self.name)),
            definitions,
        }
    }

    /// The chunk's symbol, given the state right after [`take`].
    pub fn symbol(&self, state: &RecordState) -> String {
        if self.in_container { format!("{}.{}", state.container, self.name) } else { self.name.to_owned() }
    }

    /// Look at each definition.
    pub fn each_definition(&self, mut look: impl FnMut(&str)) {
        match self.definitions {
            None => look(bare(self.name)),
            Some(list) => {
                let mut cursor = Cursor::new(list, 0);
                while !cursor.is_empty() {
                    look(cursor.text());
                }
            }
        }
    }
}

fn kind_of(code: u8) -> ChunkKind {
    match code {
        0 => ChunkKind::Function,
        1 => ChunkKind::Method,
        2 => ChunkKind::Class,
        3 => ChunkKind::ClassHeader,
        4 => ChunkKind::Declaration,
        5 => ChunkKind::Section,
        6 => ChunkKind::Text,
        7 => ChunkKind::Cell,
        _ => ChunkKind::Lines,
    }
}
