// Inlined iterators and closures in Rust, without its standard library. Made with make.sh beside it.
#![no_std]

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}

pub struct Mixer {
    total: u64,
}

impl Mixer {
    #[inline(always)]
    fn add(&mut self, value: u64) {
        self.total = self.total.wrapping_add(value.wrapping_mul(3));
        self.mix();
    }

    #[inline(always)]
    fn mix(&mut self) {
        self.total ^= self.total >> 7;
    }
}

#[inline(never)]
fn run(values: &[u64]) -> u64 {
    let mut mixer = Mixer { total: 0 };
    values.iter().map(|v| v ^ 5).for_each(|v| mixer.add(v));
    mixer.total
}

#[no_mangle]
pub extern "C" fn rust_entry(first: *const u64, count: usize) -> u64 {
    run(unsafe { core::slice::from_raw_parts(first, count) })
}
