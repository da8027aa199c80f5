//! Signatures, packed: the chunk's own name and the commonest fragments of declarations are one byte each.
//!
//! Signatures are the largest texts that a segment keeps of a chunk. Control characters never occur in one (it is a single
//! line), so they stand for fragments.

/// Stands for the chunk's own name.
const NAME: u8 = 1;
/// Stand for themselves plus [`FIRST_FRAGMENT`]. Longer ones first where one begins another. Stored on disk: never reorder.
const FRAGMENTS: [&str; 29] = [
    "public static ",
    "protected ",
    "private ",
    "public ",
    "static ",
    "function ",
    "override ",
    "const ",
    "export ",
    "async ",
    "class ",
    "final ",
    "return",
    "string",
    "String",
    "void ",
    "self, ",
    "self",
    "def ",
    "func ",
    "pub fn ",
    "fn ",
    "int ",
    " -> ",
    "None",
    ": str",
    "= ",
    ", ",
    "()",
];
const FIRST_FRAGMENT: u8 = 2;

/// Pack `signature` of a chunk named `name`. A signature with control characters is kept as it is, behind a 0.
pub fn pack(signature: &str, name: &str, out: &mut Vec<u8>) {
    if signature.bytes().any(|b| b < b' ') {
        out.push(0);
        out.extend_from_slice(signature.as_bytes());
        return;
    }
    let mut rest = signature;
    while let Some(first) = rest.bytes().next() {
        if name.len() > 1
            && let Some(after) = rest.strip_prefix(name)
        {
            out.push(NAME);
            rest = after;
        } else if let Some((i, after)) = FRAGMENTS.iter().enumerate().find_map(|(i, fragment)| {
            // Most fragments begin otherwise, which a call to compare them would take long to tell.
            let after = if fragment.as_bytes()[0] == first { rest.strip_prefix(fragment) } else { None };
            Some((i, after?))
        }) {
            out.push(FIRST_FRAGMENT + i as u8);
            rest = after;
        } else {
            let length = rest.chars().next().map_or(1, char::len_utf8);
            debug_assert!(first >= b' ');
            out.extend_from_slice(&rest.as_bytes()[..length]);
            rest = &rest[length..];
        }
    }
}

/// The signature that [`pack`] packed.
pub fn unpack(packed: &[u8], name: &str) -> String {
    if let Some((0, raw)) = packed.split_first() {
        return String::from_utf8_lossy(raw).into_owned();
    }
    let mut out = Vec::with_capacity(packed.len() * 2);
    for &byte in packed {
        match byte {
            NAME => out.extend_from_slice(name.as_bytes()),
            FIRST_FRAGMENT..b' ' => {
                out.extend_from_slice(FRAGMENTS.get((byte - FIRST_FRAGMENT) as usize).copied().unwrap_or_default().as_bytes());
            }
            _ => out.push(byte),
        }
    }
    String::from_utf8(out).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{pack, unpack};

    fn check(signature: &str, name: &str) -> usize {
        let mut packed = Vec::new();
        pack(signature, name, &mut packed);
        assert_eq!(unpack(&packed, name), signature);
        packed.len()
    }

    #[test]
    fn common_declarations_shrink() {
        assert!(check("def fetch_user(self, name: str) -> None", "fetch_user") <= 16);
        assert!(check("public static void main(String[] args)", "main") <= 16);
    }

    #[test]
    fn odd_signatures_survive() {
        check("a\tb\nc", "b");
        check("", "");
        check("\u{0}raw", "x");
    }

    proptest::proptest! {
        #[test]
        fn any_signature_round_trips(signature in "[ -~é中]{0,60}|(def |self|, |ab|->){0,9}|\\PC{0,20}", name in "[ab]{0,3}") {
            check(&signature, &name);
        }
    }
}
