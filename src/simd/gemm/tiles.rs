//! A whole matrix of floats made ready once for several products.

#[cfg(target_arch = "x86_64")]
use super::super::level::Isa;
use super::super::{Act, Form, Level, MatMut, Matrix, ShapeError, Then};
use super::float;

/// The tiles of all outputs of a matrix. Buffers are kept from one [`Self::set`] to the next.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tiles {
    level: Option<Level>,
    form: Form,
    inputs: usize,
    outputs: usize,
    data: Vec<f32>,
}

impl Tiles {
    /// Makes room for a matrix of so many inputs and outputs; `None` where there is no memory.
    pub(crate) fn reserve(&mut self, inputs: usize, outputs: usize) -> Option<()> {
        self.data.try_reserve_exact(outputs.checked_next_multiple_of(32)?.checked_mul(inputs)?).ok()
    }

    /// Makes the tiles of `matrix` for activations in `form`, F32 or BF16.
    ///
    /// # Errors
    ///
    /// Where the matrix is none of floats.
    pub(crate) fn set(&mut self, level: Level, form: Form, matrix: &Matrix<'_>) -> Result<(), ShapeError> {
        let (inputs, outputs) = (matrix.inputs(), matrix.outputs());
        let Some(panel) = matrix.panel().filter(|panel| panel.ty.is_float() && form != Form::Q8) else {
            return Err(ShapeError::new("only floats are made ready for several products", 1, 0));
        };
        (self.level, self.form, self.inputs, self.outputs) = (Some(level), form, inputs, outputs);
        #[cfg(target_arch = "x86_64")]
        if form == Form::Bf16 && level.isa() == Isa::Avx512Bf16 {
            // SAFETY: a level is made only where the processor has it.
            unsafe { super::avx512::brain_tiles(panel, inputs, outputs, &mut self.data) };
            return Ok(());
        }
        float::tiles(level, panel, inputs, outputs, &mut self.data);
        Ok(())
    }

    /// The product, and what `then` adds: of as many of the first outputs as `out` has columns, with as many of the first
    /// inputs as the activations have.
    ///
    /// # Errors
    ///
    /// Where there are not so many, or the activations were made for another level or in another form.
    pub(crate) fn multiply(&self, act: &Act, out: MatMut<'_>, then: Then<'_>) -> Result<(), ShapeError> {
        ShapeError::unless("rows of a product", act.rows(), out.rows())?;
        if act.len() > self.inputs || out.columns() > self.outputs {
            return Err(ShapeError::new("a product is larger than its tiles", self.inputs, act.len()));
        }
        if Some(act.level()) != self.level || act.form() != self.form {
            return Err(ShapeError::new("these activations are not for such tiles", 0, 1));
        }
        #[cfg(target_arch = "x86_64")]
        if self.form == Form::Bf16 && act.level().isa() == Isa::Avx512Bf16 {
            // SAFETY: a level is made only where the processor has it.
            unsafe { super::avx512::multiply_brain(&self.data, self.inputs, act, out, then) };
            return Ok(());
        }
        float::multiply_tiles(act.level(), &self.data, self.inputs, act, out, then);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::{Scratch, WeightType};
    use super::*;

    /// Products of whole numbers, which every form has exactly.
    #[test]
    fn parts_of_tiles_are_parts_of_the_product() {
        let number = |at: usize| f32::from(u8::try_from(at * 37 % 19).unwrap()) - 9.0;
        for level in Level::all() {
            for (form, ty) in [
                (Form::F32, WeightType::F32),
                (Form::F32, WeightType::F16),
                (Form::Bf16, WeightType::F32),
                (Form::Bf16, WeightType::F16),
                (Form::Bf16, WeightType::BF16),
            ] {
                for (tokens, inputs, outputs) in [(24, 64, 77), (5, 33, 64), (1, 70, 33), (3, 9, 5)] {
                    let weights: Vec<u8> = (0..inputs * outputs).flat_map(|at| bytes(ty, number(at))).collect();
                    for input_major in [false, true] {
                        let matrix = if input_major {
                            Matrix::input_major(ty, &weights, inputs, outputs)
                        } else {
                            Matrix::new(ty, &weights, outputs, inputs)
                        };
                        let mut tiles = Tiles::default();
                        tiles.set(level, form, &matrix.unwrap()).unwrap();
                        // With all, and with a part of both.
                        for (inputs, columns) in [(inputs, outputs), (inputs - 2, outputs - 4)] {
                            let weight = |output: usize, input: usize| {
                                if input_major { input * outputs + output } else { output * tiles.inputs + input }
                            };
                            let x: Vec<f32> = (0..tokens * inputs).map(|at| number(at + 5)).collect();
                            let mut act = Act::new();
                            act.set(level, form, &x, inputs).unwrap();
                            let mut out = vec![f32::NAN; tokens * columns];
                            let to = MatMut::new(&mut out, columns).unwrap();
                            tiles.multiply(&act, to, Then::default()).unwrap();
                            for (at, out) in out.iter().enumerate() {
                                let (token, output) = (at / columns, at % columns);
                                let row = x[token * inputs..].iter().take(inputs).enumerate();
                                let sum: f32 = row.map(|(input, x)| x * number(weight(output, input))).sum();
                                assert_eq!(*out, sum, "{level} {form:?} {ty:?} {input_major} {at}");
                            }
                        }
                    }
                }
            }
        }
    }

    fn bytes(ty: WeightType, value: f32) -> Vec<u8> {
        match ty {
            WeightType::F32 => value.to_le_bytes().to_vec(),
            WeightType::BF16 => (value.to_bits() >> 16).to_le_bytes()[..2].to_vec(),
            _ => {
                let mut half = [0];
                super::super::super::f32_to_f16(Level::SCALAR, &[value], &mut half);
                half[0].to_le_bytes().to_vec()
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let level = Level::best();
        let (mut tiles, mut act, mut out) = (Tiles::default(), Act::new(), [0.0; 4]);
        let blocks = Matrix::new(WeightType::Q8_0, &[0; 34], 1, 32).unwrap();
        assert!(tiles.set(level, Form::F32, &blocks).is_err(), "blocks");
        let floats = Matrix::new(WeightType::F32, &[0; 16], 2, 2).unwrap();
        assert!(tiles.set(level, Form::Q8, &floats).is_err(), "eight bits");
        tiles.set(level, Form::F32, &floats).unwrap();
        act.set(level, Form::F32, &[0.0; 3], 3).unwrap();
        assert!(tiles.multiply(&act, MatMut::new(&mut out[..2], 2).unwrap(), Then::default()).is_err(), "inputs");
        act.set(level, Form::F32, &[0.0; 2], 2).unwrap();
        assert!(tiles.multiply(&act, MatMut::new(&mut out[..3], 3).unwrap(), Then::default()).is_err(), "outputs");
        assert!(tiles.multiply(&act, MatMut::new(&mut out, 2).unwrap(), Then::default()).is_err(), "rows");
        act.set(level, Form::Bf16, &[0.0; 2], 2).unwrap();
        assert!(tiles.multiply(&act, MatMut::new(&mut out[..2], 2).unwrap(), Then::default()).is_err(), "form");
        act.set(level, Form::F32, &[0.0; 2], 2).unwrap();
        let mut scratch = Scratch::new();
        assert!(tiles.multiply(&act, MatMut::new(&mut out[..2], 2).unwrap(), Then::default()).is_ok());
        assert!(
            floats
                .multiply(level, &act, MatMut::new(&mut out[..2], 2).unwrap(), Then::default(), &mut scratch)
                .is_ok()
        );
    }
}
