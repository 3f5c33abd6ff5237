//! Faults in tensor infos and in what follows them.

use super::{Arbitrary, Built, ErrorKind, GgmlType, Result, Tensor, Told, Unstructured, again, one, with_number};

/// A tensor that `wanted` takes.
fn tensor(built: &Built, u: &mut Unstructured<'_>, wanted: impl Fn(&Tensor) -> bool) -> Result<Option<usize>> {
    let places: Vec<usize> = (0..built.infos.len()).filter(|index| wanted(&built.model.tensors[*index])).collect();
    Ok(one(u, places.len())?.map(|choice| places[choice]))
}

pub(super) fn empty_name(built: &Built, u: &mut Unstructured<'_>) -> Told {
    // With a dimension the info is no shorter than the least one.
    let Some(index) = tensor(built, u, |tensor| !tensor.dims.is_empty())? else { return Ok(None) };
    let built = again(built, |model| model.tensors[index].name.clear());
    let at = built.infos[index].len;
    Ok(Some((built.file, ErrorKind::GgNameEmpty, at)))
}

pub(super) fn odd_name(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let Some(index) = tensor(built, u, |tensor| tensor.name.len() < 60)? else { return Ok(None) };
    let (bad, kind) = *u.choose(&[
        (&b"\xff"[..], ErrorKind::GgNameUtf8),
        (b"\xc3(", ErrorKind::GgNameUtf8),
        (b"\xed\xa0\x80", ErrorKind::GgNameUtf8),
        (b"\0", ErrorKind::GgNameControl),
        (b"\n", ErrorKind::GgNameControl),
        (b"\x7f", ErrorKind::GgNameControl),
        (b"\xc2\x85", ErrorKind::GgNameControl),
    ])?;
    let inside = built.model.tensors[index].name.len() as u64;
    let built = again(built, |model| model.tensors[index].name.extend_from_slice(bad));
    let at = built.infos[index].len + 8 + inside;
    Ok(Some((built.file, kind, at)))
}

pub(super) fn name_twice(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let Some(index) = tensor(built, u, |_| true)? else { return Ok(None) };
    let place = u.int_in_range(index + 1..=built.infos.len())?;
    let built = again(built, |model| {
        model.tensors.insert(place, Tensor { dims: vec![0], len: 0, kind: 0, ..model.tensors[index].clone() });
        model.unpadded = 0;
        model.lay_out();
    });
    let at = built.infos[place].len + 8;
    Ok(Some((built.file, ErrorKind::GgNameDup, at)))
}

pub(super) fn five_dims(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let Some(index) = tensor(built, u, |_| true)? else { return Ok(None) };
    let rank = *u.choose(&[5, 6, 255, 1 << 31, u64::from(u32::MAX)])?;
    let at = built.infos[index].rank;
    Ok(Some((with_number(built, at, rank, 4), ErrorKind::GgRankLimit, at)))
}

pub(super) fn negative_dim(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let Some(index) = tensor(built, u, |tensor| !tensor.dims.is_empty())? else { return Ok(None) };
    let axis = u.choose_index(built.model.tensors[index].dims.len())? as u64;
    let at = built.infos[index].rank + 4 + axis * 8;
    let dim = (1 << 63) | (u64::arbitrary(u)? >> u.int_in_range(0..=63)?);
    Ok(Some((with_number(built, at, dim, 8), ErrorKind::GgDimNegative, at)))
}

/// The largest signed number of 64 bits.
const EDGE: u64 = u64::MAX >> 1;

pub(super) fn shape_overflow(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let Some(index) = tensor(built, u, |_| true)? else { return Ok(None) };
    let (dims, axis): (&[u64], u64) = u
        .choose(&[
            (&[1 << 62, 2][..], 1),
            (&[1 << 32, 1 << 31], 1),
            (&[EDGE, EDGE], 1),
            (&[3, EDGE / 3], 1),
            (&[EDGE / 2, 2], 1),
            (&[1, 1, EDGE], 2),
            (&[1 << 20, 1 << 20, 1 << 23, 0], 2),
            (&[1 << 16, 1 << 16, 1 << 16, 1 << 15], 3),
        ])
        .map(|(dims, axis)| (*dims, *axis))?;
    let built = again(built, |model| model.tensors[index].dims = dims.to_vec());
    let at = built.infos[index].rank + 4 + axis * 8;
    Ok(Some((built.file, ErrorKind::GgShapeOverflow, at)))
}

pub(super) fn tensor_type(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let Some(index) = tensor(built, u, |_| true)? else { return Ok(None) };
    let at = built.infos[index].kind;
    let (number, kind) = if bool::arbitrary(u)? {
        (*u.choose(&[4, 5, 31, 32, 33, 36, 37, 38])?, ErrorKind::GgTypeRemoved)
    } else {
        (*u.choose(&[43, 97, 133, 202, 1 << 31, u64::from(u32::MAX)])?, ErrorKind::GgTypeUnknown)
    };
    Ok(Some((with_number(built, at, number, 4), kind, at)))
}

pub(super) fn row_blocks(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let block = |tensor: &Tensor| GgmlType::from_id(tensor.kind).block_elements().unwrap_or(1);
    let Some(index) = tensor(built, u, |tensor| block(tensor) > 1 && tensor.dims.iter().all(|dim| *dim < 4096))?
    else {
        return Ok(None);
    };
    let block = u64::from(block(&built.model.tensors[index]));
    let row = u.int_in_range(0..=3)? * block + u.int_in_range(1..=block - 1)?;
    let at = built.infos[index].rank + 4;
    Ok(Some((with_number(built, at, row, 8), ErrorKind::GgRowBlocks, at)))
}

pub(super) fn size_overflow(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let Some(index) = tensor(built, u, |_| true)? else { return Ok(None) };
    // F32, F64 and Q8_K: 2^64 bytes and more, or what is padded to that.
    let (kind, dims): (u32, &[u64]) =
        *u.choose(&[(0, &[1 << 62][..]), (0, &[1 << 31, 1 << 31]), (28, &[1 << 61]), (27, &[EDGE])])?;
    let built = again(built, |model| {
        model.tensors[index].kind = kind;
        model.tensors[index].dims = dims.to_vec();
    });
    let at = built.infos[index].rank + 4;
    Ok(Some((built.file, ErrorKind::GgSizeOverflow, at)))
}

pub(super) fn offset(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let Some(index) = tensor(built, u, |_| true)? else { return Ok(None) };
    let (at, right) = (built.infos[index].offset, built.model.tensors[index].offset);
    let (offset, kind) = if right > 0 && bool::arbitrary(u)? {
        (u.int_in_range(0..=right - 1)?, ErrorKind::GgOffsetOverlap)
    } else {
        let more = u64::arbitrary(u)? >> u.int_in_range(1..=63)?;
        (right + 1 + more, ErrorKind::GgOffsetGap)
    };
    Ok(Some((with_number(built, at, offset, 8), kind, at)))
}

pub(super) fn padding(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let mut places: Vec<u64> = (built.head_len..built.data_at).collect();
    let mut covered = built.data_at;
    for tensor in &built.model.tensors {
        places.extend(covered..built.data_at + tensor.offset);
        covered = built.data_at + tensor.offset + tensor.len;
    }
    places.extend(covered.max(built.head_len)..built.file.len() as u64);
    let Some(choice) = one(u, places.len())? else { return Ok(None) };
    let at = places[choice];
    Ok(Some((with_number(built, at, u.int_in_range(1..=255)?, 1), ErrorKind::GgPaddingNonzero, at)))
}

pub(super) fn trailing(built: &Built, u: &mut Unstructured<'_>) -> Told {
    let mut file = built.file.clone();
    file.resize(file.len() + usize::try_from(built.model.unpadded).expect("small"), 0);
    let at = file.len() as u64;
    let filler = u8::arbitrary(u)?;
    file.resize(file.len() + u.int_in_range(1..=40)?, filler);
    Ok(Some((file, ErrorKind::GgDataTrailing, at)))
}
