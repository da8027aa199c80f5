//! Memory of syntax trees. A tree is many small nodes that die together: to give back each by itself takes a tenth of indexing.
//!
//! While [`within`] runs, what tree-sitter allocates on its thread comes from blocks that are given back as a whole. What is freed
//! meanwhile is used again for the same size, so error recovery needs no more memory than with another allocator.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, Once};

use memmap2::MmapMut;

use crate::base::sync::locked;

/// Memory is taken from the system in blocks of so many bytes; a piece of more than an eighth gets a block of its own.
const BLOCK: usize = 256 * 1024;
/// So many blocks are kept for the next trees.
const SPARE_BLOCKS: usize = 16;
/// Sizes up to `SMALL` are rounded up to a multiple of this, larger ones to a power of two.
const GRAIN: usize = 16;
const SMALL: usize = 1024;
const SMALL_CLASSES: usize = SMALL / GRAIN;
const CLASSES: usize = SMALL_CLASSES + usize::BITS as usize;
/// In place of an arena's number, for what is allocated outside of one.
const NO_ARENA: u32 = 0;

/// Stands before each piece of memory.
#[repr(align(8))]
struct Header {
    arena: u32,
    class: u32,
}

static SPARE: Mutex<Vec<MmapMut>> = Mutex::new(Vec::new());

thread_local! {
    static CURRENT: Cell<*mut Arena> = const { Cell::new(null_mut()) };
}

/// Run `work` with an arena. What tree-sitter made within it may not be used afterwards, and need not be dropped.
pub(super) fn within<R>(work: impl FnOnce() -> R) -> R {
    static INSTALL: Once = Once::new();
    // SAFETY: the functions keep the contract of C's, and tree-sitter has allocated nothing before.
    INSTALL.call_once(|| unsafe {
        tree_sitter::set_allocator(Some(allocate), Some(allocate_zeroed), Some(reallocate), Some(free));
    });
    let mut arena = Arena::new();
    let _outer = Outer(CURRENT.replace(&raw mut arena));
    work()
}

/// Give the blocks back that are kept for the next trees.
pub fn give_back() {
    locked(&SPARE).clear();
}

/// The arena that was in use before, and is again when this is dropped.
struct Outer(*mut Arena);

impl Drop for Outer {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

fn piece_of_system(bytes: usize) -> *mut Header {
    let layout = layout(bytes);
    // SAFETY: no size is zero.
    let piece = unsafe { alloc(layout) };
    if piece.is_null() {
        handle_alloc_error(layout);
    }
    piece.cast()
}

fn layout(bytes: usize) -> Layout {
    Layout::from_size_align(bytes, GRAIN).expect("no request is as large")
}

struct Arena {
    /// Tells its memory from that of others.
    number: u32,
    blocks: Vec<MmapMut>,
    /// What is left of the last shared block.
    next: *mut Header,
    left: usize,
    /// The last freed piece of each size, which holds the address of the one before.
    freed: [*mut Header; CLASSES],
}

impl Arena {
    fn new() -> Self {
        static NUMBERS: AtomicU32 = AtomicU32::new(0);
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed).wrapping_add(1).max(NO_ARENA + 1);
        Self { number, blocks: Vec::new(), next: null_mut(), left: 0, freed: [null_mut(); CLASSES] }
    }

    #[inline]
    fn take(&mut self, class: usize, bytes: usize) -> *mut Header {
        let freed = self.freed[class];
        if !freed.is_null() {
            // SAFETY: `give` wrote the address there.
            self.freed[class] = unsafe { freed.add(1).cast::<*mut Header>().read() };
            return freed;
        }
        if bytes > self.left {
            return self.take_of_new_block(bytes);
        }
        let piece = self.next;
        // SAFETY: so many bytes are left.
        self.next = unsafe { piece.byte_add(bytes) };
        self.left -= bytes;
        piece
    }

    #[cold]
    fn take_of_new_block(&mut self, bytes: usize) -> *mut Header {
        let is_shared = bytes <= BLOCK / 8;
        let spare = if is_shared { locked(&SPARE).pop() } else { None };
        // Mapped for themselves, they leave no holes between what lives longer.
        let map = |bytes| MmapMut::map_anon(bytes).unwrap_or_else(|_| handle_alloc_error(layout(bytes)));
        let mut block = spare.unwrap_or_else(|| map(if is_shared { BLOCK } else { bytes }));
        let piece: *mut Header = block.as_mut_ptr().cast();
        self.blocks.push(block);
        if is_shared {
            // SAFETY: the block is larger.
            self.next = unsafe { piece.byte_add(bytes) };
            self.left = BLOCK - bytes;
        }
        piece
    }

    #[inline]
    fn give(&mut self, class: usize, piece: *mut Header) {
        // SAFETY: the smallest piece has room for an address behind its header.
        unsafe { piece.add(1).cast::<*mut Header>().write(self.freed[class]) };
        self.freed[class] = piece;
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        self.blocks.retain(|block| block.len() == BLOCK);
        let mut spare = locked(&SPARE);
        let kept = self.blocks.len().min(SPARE_BLOCKS.saturating_sub(spare.len()));
        spare.extend(self.blocks.drain(..kept));
    }
}

/// Return the class of pieces that hold `size` bytes, and how large they are.
#[inline]
fn class_of(size: usize) -> (usize, usize) {
    let bytes = size.saturating_add(size_of::<Header>()).max(GRAIN);
    if bytes <= SMALL {
        let class = bytes.div_ceil(GRAIN);
        (class, class * GRAIN)
    } else {
        let bytes = bytes.checked_next_power_of_two().unwrap_or(usize::MAX);
        (SMALL_CLASSES + bytes.ilog2() as usize, bytes)
    }
}

fn bytes_of(class: usize) -> usize {
    if class <= SMALL_CLASSES { class * GRAIN } else { 1 << (class - SMALL_CLASSES) }
}

extern "C" fn allocate(size: usize) -> *mut c_void {
    let (class, bytes) = class_of(size);
    let arena = CURRENT.get();
    // SAFETY: `within` holds the arena, whose only use this is; a piece has room for its header.
    unsafe {
        let (piece, arena) =
            if arena.is_null() { (piece_of_system(bytes), NO_ARENA) } else { ((*arena).take(class, bytes), (*arena).number) };
        piece.write(Header { arena, class: class as u32 });
        piece.add(1).cast()
    }
}

extern "C" fn allocate_zeroed(count: usize, size: usize) -> *mut c_void {
    let bytes = count.saturating_mul(size);
    let memory = allocate(bytes);
    // SAFETY: it has so many bytes.
    unsafe { memory.write_bytes(0, bytes) };
    memory
}

extern "C" fn reallocate(memory: *mut c_void, size: usize) -> *mut c_void {
    if memory.is_null() {
        return allocate(size);
    }
    // SAFETY: `allocate` wrote the header, and gave as many bytes as its class has.
    unsafe {
        let has = bytes_of((*memory.cast::<Header>().sub(1)).class as usize) - size_of::<Header>();
        if size <= has {
            return memory;
        }
        let larger = allocate(size);
        larger.copy_from_nonoverlapping(memory, has);
        free(memory);
        larger
    }
}

extern "C" fn free(memory: *mut c_void) {
    if memory.is_null() {
        return;
    }
    let current = CURRENT.get();
    // SAFETY: `allocate` wrote the header. What belongs to another arena than this thread's goes with its blocks.
    unsafe {
        let piece = memory.cast::<Header>().sub(1);
        let Header { arena, class } = piece.read();
        let class = class as usize;
        if arena == NO_ARENA {
            dealloc(piece.cast(), layout(bytes_of(class)));
        } else if !current.is_null() && (*current).number == arena {
            (*current).give(class, piece);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fill(memory: *mut c_void, size: usize, with: u8) {
        // SAFETY: the tests below ask for so many bytes.
        unsafe { memory.cast::<u8>().write_bytes(with, size) };
    }

    fn holds(memory: *mut c_void, size: usize, what: u8) -> bool {
        // SAFETY: as above.
        size == 0 || unsafe { std::slice::from_raw_parts(memory.cast::<u8>(), size) } == vec![what; size]
    }

    proptest! {
        #[test]
        fn pieces_keep_what_is_in_them(steps in proptest::collection::vec((0_usize..4, any::<u16>(), 0_u32..4), 1..200), inside: bool) {
            let run = || {
                let mut live: Vec<(*mut c_void, usize, u8)> = Vec::new();
                for (at, (what, size, shift)) in steps.iter().enumerate() {
                    let (size, mark) = ((*size as usize) << shift, at as u8);
                    match (what, live.len()) {
                        (0, 1..) => {
                            let (memory, had, with) = live.swap_remove(size % live.len());
                            assert!(holds(memory, had, with));
                            free(memory);
                        }
                        (1, 1..) => {
                            let place = size % live.len();
                            let (memory, had, with) = live[place];
                            let memory = reallocate(memory, size);
                            assert!(holds(memory, had.min(size), with));
                            fill(memory, size, mark);
                            live[place] = (memory, size, mark);
                        }
                        (2, _) => {
                            let memory = allocate_zeroed(size, 1);
                            assert!(holds(memory, size, 0));
                            fill(memory, size, mark);
                            live.push((memory, size, mark));
                        }
                        _ => {
                            let memory = allocate(size);
                            fill(memory, size, mark);
                            live.push((memory, size, mark));
                        }
                    }
                }
                for (memory, size, mark) in live {
                    assert!(holds(memory, size, mark));
                    free(memory);
                }
            };
            if inside { within(run) } else { run() }
        }
    }

    #[test]
    fn freed_memory_is_used_again() {
        within(|| {
            let first = allocate(100);
            free(first);
            assert_eq!(allocate(100), first);
            let large = allocate(2 * BLOCK);
            free(large);
            assert_eq!(allocate(2 * BLOCK), large);
        });
    }

    #[test]
    fn another_arena_is_left_alone() {
        within(|| {
            let outer = allocate(100);
            within(|| {
                free(outer);
                assert_ne!(allocate(100), outer);
            });
            free(outer);
            assert_eq!(allocate(100), outer);
        });
    }
}
