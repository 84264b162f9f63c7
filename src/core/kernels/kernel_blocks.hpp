// Values of a kernel between rows of dense matrices, by tiles that stay in the cache: first the
// measure of two rows (a matrix product, or sums over their entries), then the kernel's curve.
//
// All values have the type T of the rows. Tiles depend on the shapes alone, so results have the
// same bits for any number of threads.
#pragma once

#include <vector>

#include "base/products.hpp"

namespace gapless {

// The measure of two rows x and z.
enum class Measure {
    product,            // ⟨x, z⟩
    squared_distance,   // ‖x − z‖²
    absolute_distance,  // Σ |xⱼ − zⱼ|
    chi_square,         // Σ (xⱼ − zⱼ)² / (xⱼ + zⱼ), terms with xⱼ + zⱼ = 0 left out
};

// The curve of t = scale · measure + shift.
enum class Curve {
    identity,     // t
    power,        // t to the power `degree`
    exponential,  // eᵗ for t ≤ 0
    tanh,         // tanh t
    matern_1,     // e⁻ʳ with r = √t, Matérn's kernel for ν = 1/2; for 3/2 and 5/2:
    matern_3,     // (1 + r) e⁻ʳ
    matern_5,     // (1 + r + r²/3) e⁻ʳ
};

struct KernelForm {
    Measure measure;
    Curve curve;
    double scale, shift;
    Index degree;
};

// Rows stored one after another, and their squared lengths.
template <class T>
struct KernelRows {
    const T* x;
    const T* squares;
    Index rows, columns;

    const T* row(Index i) const { return x + i * columns; }
};

// out (a.rows × b.rows) = k(aᵢ, bⱼ)
template <class T>
void kernel_block(const KernelForm& form, const KernelRows<T>& a, const KernelRows<T>& b, T* out,
                  const Context& context);

// out (n × n) = k(aᵢ, aⱼ): symmetric to the bit, distances of a row to itself exactly 0.
template <class T>
void kernel_gram(const KernelForm& form, const KernelRows<T>& a, T* out, const Context& context);

// out (a.rows × outputs) = Σⱼ k(aᵢ, bⱼ) coefⱼ with coef (b.rows × outputs), stored by rows. Sums of
// a single output are double; of several, those over one tile have the type T.
template <class T>
void kernel_times(const KernelForm& form, const KernelRows<T>& a, const KernelRows<T>& b,
                  const double* coef, Index outputs, double* out, const Context& context);

// A product K coef with the kernel values between some of the rows, given by position.
struct OwnProduct {
    Index count;
    const Index* rows;
    const double* coef;
    double* out;
};

// Many such products at once; entries of coef that are 0 cost nothing.
template <class T>
void kernel_times_each(const KernelForm& form, const KernelRows<T>& x,
                       const std::vector<OwnProduct>& products, const Context& context);

// The rows of a sparse matrix, or its columns, and the squared lengths of the rows.
template <class T>
struct SparseKernelRows {
    Compressed<T> x;
    const T* squares;
};

// out (n × m) = k(aᵢ, bⱼ) for sparse rows a and the columns of b; if b equals a (`is_gram`),
// symmetric to the bit. Costs a multiplication per pair of entries in one column; `measure` is one
// of the first two.
template <class T>
void kernel_block(const KernelForm& form, const SparseKernelRows<T>& rows,
                  const SparseKernelRows<T>& columns, bool is_gram, T* out, const Context& context);

// Turn inner products ⟨aᵢ, bⱼ⟩ (rows × columns) into kernel values in place, for rows stored in
// another way; `measure` is one of the first two.
template <class T>
void kernel_values(const KernelForm& form, const T* a_squares, const T* b_squares, Index rows,
                   Index columns, T* values, const Context& context);

}  // namespace gapless
