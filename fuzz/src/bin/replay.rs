//! Gives every target its seeds and its old crashes (`corpus/regress/<target>`): a replay on the stable compiler.

fn main() {
    println!("{} inputs replayed", tensorgate_fuzz::corpus::replay_all());
}
