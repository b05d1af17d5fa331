// det: det(A) = sum_j (-1)^j A_0j det(A without row 0 and column j).
//
// The recursion carries down the derivative of the whole determinant by the minor it is in, and adds to the gradient what each entry's
// minor contributes on the way back, so that one expansion gives all cofactors.

#include "peer.hpp"

namespace {

struct Question {
    std::vector<double> a;
    std::size_t n;
};

// Columns that are left have their bits set.
double value(const Question &q, std::size_t row, unsigned columns) {
    if (row == q.n) return 1;
    double sum = 0, sign = 1;
    for (unsigned left = columns; left; left &= left - 1, sign = -sign)
        sum += sign * q.a[row * q.n + __builtin_ctz(left)] * value(q, row + 1, columns & ~(left & -left));
    return sum;
}

double gradient(const Question &q, std::size_t row, unsigned columns, double adjoint, double *g) {
    if (row == q.n) return 1;
    double sum = 0, sign = 1;
    for (unsigned left = columns; left; left &= left - 1, sign = -sign) {
        const std::size_t at = row * q.n + __builtin_ctz(left);
        const double entry = sign * q.a[at];
        const double minor = gradient(q, row + 1, columns & ~(left & -left), adjoint * entry, g);
        g[at] += adjoint * sign * minor;
        sum += entry * minor;
    }
    return sum;
}

unsigned all(const Question &q) { return (1u << q.n) - 1; }

Question read(const json::Value &input) {
    const std::size_t n = input.at("ell").size();
    if (n > 20) throw std::runtime_error("expected at most 20 rows");
    return {input.at("A").numbers(n * n), n};
}

} // namespace

int main(int count, char **arguments) {
    auto primal = [](const json::Value &input) { return peer::number([q = read(input)] { return value(q, 0, all(q)); }); };
    auto cofactors = [](const json::Value &input) {
        return peer::list([q = read(input)] {
            std::vector<double> g(q.n * q.n);
            gradient(q, 0, all(q), 1, g.data());
            return g;
        });
    };
    return peer::serve(count, arguments, "det", {{"primal", primal}, {"gradient", cofactors}});
}
