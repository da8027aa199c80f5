//! Adding weighted rows of bytes to a vector of floats: what a static embedding model does for every token.

use std::sync::OnceLock;

/// `out += weight x row`, by the best instructions that the processor has. `row` holds signed bytes.
type Add = fn(weight: f32, row: &[u8], out: &mut [f32]);

/// A way to add rows. All give the same floats: one multiplication and one addition a place, never fused.
#[derive(Clone, Copy, Debug)]
pub struct Adder {
    /// What instructions it uses.
    pub name: &'static str,
    add: Add,
}

impl Adder {
    /// The fastest one of this processor.
    pub fn best() -> Self {
        static BEST: OnceLock<Adder> = OnceLock::new();
        *BEST.get_or_init(|| Self::all()[0])
    }

    /// Every one that runs on this processor, fastest first.
    pub fn all() -> Vec<Self> {
        let mut all = Vec::new();
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            all.push(Self {
                name: "avx2",
                add: |weight, row, out| {
                    // SAFETY: AVX2 was detected just above.
                    unsafe { add_avx2(weight, row, out) }
                },
            });
        }
        all.push(Self { name: "scalar", add });
        all
    }

    /// `out[i] += weight * row[i]`, over the shorter of the two.
    #[inline]
    pub fn add(self, weight: f32, row: &[u8], out: &mut [f32]) {
        (self.add)(weight, row, out);
    }
}

/// The loop itself, which the compiler turns into vector instructions for whichever processor it is compiled for: on ARM
/// NEON is always there.
#[allow(clippy::inline_always, reason = "it must be compiled into each caller, with that caller's instructions")]
#[inline(always)]
fn add(weight: f32, row: &[u8], out: &mut [f32]) {
    for (out, value) in out.iter_mut().zip(row) {
        *out += weight * f32::from(*value as i8);
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn add_avx2(weight: f32, row: &[u8], out: &mut [f32]) {
    add(weight, row, out);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Adder, add};

    proptest! {
        #[test]
        fn every_adder_gives_the_same_floats(row in prop::collection::vec(any::<u8>(), 0..300), weight in -5.0_f32..5.0) {
            let mut expected = vec![0.5; 300];
            add(weight, &row, &mut expected);
            for adder in Adder::all() {
                let mut out = vec![0.5; 300];
                adder.add(weight, &row, &mut out);
                prop_assert_eq!(&out, &expected, "{}", adder.name);
            }
        }
    }
}
