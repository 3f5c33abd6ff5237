use super::*;

#[test]
fn every_part_is_done_once_for_any_number_of_threads() {
    for threads in [1, 2, 3, 8] {
        let mut pool = Pool::new(threads).unwrap();
        assert_eq!(pool.threads(), threads);
        let mut scratch = vec![0_u32; threads];
        for len in [0_usize, 1, 2, 63, 64, 65, 1000] {
            for size in [1, 7, 64, 2000] {
                let mut data = vec![0_u32; len];
                pool.run(Chunks::new(&mut data, size), &mut scratch, |done, index, chunk| {
                    *done += 1;
                    for (at, value) in chunk.iter_mut().enumerate() {
                        *value += u32::try_from(index * size + at).unwrap();
                    }
                });
                assert!(data.iter().enumerate().all(|(at, value)| usize::try_from(*value).unwrap() == at));
            }
        }
        let parts: usize = [0_usize, 1, 2, 63, 64, 65, 1000]
            .iter()
            .flat_map(|len| [1, 7, 64, 2000].map(|size| len.div_ceil(size)))
            .sum();
        assert_eq!(usize::try_from(scratch.iter().sum::<u32>()).unwrap(), parts);
    }
}

#[test]
fn columns_cover_the_matrix() {
    let mut pool = Pool::new(3).unwrap();
    for (rows, width, size) in [(1, 1, 1), (4, 10, 3), (5, 64, 16), (2, 7, 100), (0, 5, 2)] {
        let mut matrix = vec![0.0_f32; rows * width];
        pool.run(Columns::new(&mut matrix, width, size), &mut [(), (), ()], |(), index, mut tile| {
            assert_eq!((tile.rows(), tile.columns()), (rows, size.min(width - index * size)));
            for row in 0..rows {
                tile.row(row).iter_mut().for_each(|value| *value += 1.0);
            }
            assert!(tile.row(rows).is_empty());
        });
        assert!(matrix.iter().all(|value| *value == 1.0));
    }
}

#[test]
fn pairs_go_together() {
    let mut pool = Pool::new(2).unwrap();
    let (mut left, mut right) = (vec![0_u8; 10], vec![0.0_f32; 3 * 10]);
    let parts = (Chunks::new(&mut left, 2), Columns::new(&mut right, 10, 2));
    pool.run(parts, &mut [(), ()], |(), index, (chunk, mut tile)| {
        chunk.fill(u8::try_from(index).unwrap());
        tile.row(1).fill(f32::from(u8::try_from(index).unwrap()));
    });
    assert_eq!(left, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]);
    assert_eq!(right[10..20], [0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0]);
}

#[test]
fn many_short_phases_with_more_threads_than_processors() {
    let mut pool = Pool::new(16).unwrap();
    let mut scratch = [(); 16];
    let mut data = vec![0_u32; 33];
    for _ in 0..2_000 {
        pool.run(Chunks::new(&mut data, 1), &mut scratch, |(), _, chunk| chunk[0] += 1);
    }
    assert!(data.iter().all(|value| *value == 2_000));
}

#[test]
fn workers_that_sleep_are_woken() {
    let mut pool = Pool::new(2).unwrap();
    let mut data = [0_u32; 2];
    for round in 1..=5 {
        thread::sleep(PATIENCE * 10);
        pool.run(Chunks::new(&mut data, 1), &mut [(), ()], |(), _, chunk| {
            chunk[0] += 1;
            thread::sleep(Duration::from_millis(1));
        });
        assert_eq!(data, [round, round]);
    }
}

#[test]
fn a_panic_reaches_the_caller_and_the_pool_lives_on() {
    let mut pool = Pool::new(3).unwrap();
    for bad in 0..6 {
        let mut data = [0_u8; 6];
        let outcome = panic::catch_unwind(AssertUnwindSafe(|| {
            pool.run(Chunks::new(&mut data, 1), &mut [(), (), ()], |(), index, chunk| {
                assert!(index != bad, "part {index}");
                chunk[0] = 1;
            });
        }));
        assert!(outcome.is_err());
        pool.run(Chunks::new(&mut data, 1), &mut [(), (), ()], |(), _, chunk| chunk[0] = 9);
        assert_eq!(data, [9; 6]);
    }
}

#[test]
fn less_scratch_than_threads_means_fewer_threads() {
    let mut pool = Pool::new(4).unwrap();
    let mut data = [0_u8; 100];
    let mut one = [0_u32];
    pool.run(Chunks::new(&mut data, 1), &mut one, |count, _, _| *count += 1);
    assert_eq!(one, [100]);
}
