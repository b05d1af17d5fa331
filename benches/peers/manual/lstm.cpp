// lstm: a recurrent network of l layers with diagonal weights, which predicts the next character of a text.
//
//   x = s_t a
//   for each layer:   F = sigmoid(x W_f + B_f)      I = sigmoid(h W_i + B_i)
//                     O = sigmoid(x W_o + B_o)      G = tanh(h W_c + B_c)
//                     c <- c F + I G,   T = tanh(c),   x, h <- O T
//   y = x o + beta,   loss = -sum_t s_{t+1} . (y - log(2 + sum exp(y))) / (b (c - 1))
//
// Backwards, with H, C the derivatives by what a layer gives and remembers, and P by what a gate is of:
//
//   H += x's from above,   C += H O (1 - T^2),   P_f = C c F (1 - F),   P_i = C G I (1 - I),   P_o = H T O (1 - O),   P_c = C I (1 - G^2)
//   weights get P times what was fed in, biases P,   x's for below = P_f W_f + P_o W_o,   H <- P_i W_i + P_c W_c,   C <- C F

#include "peer.hpp"

namespace {

struct Question {
    std::size_t l, b, c;
    std::vector<double> main, extra, state, sequence;
};

// What a layer saw at a time, each of length b, one after the other.
enum Kept { FED, HIDDEN, CELL, FORGET, TAKE, OUT, CHANGE, TANH, KEPT };

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// One layer's step from kept FED, HIDDEN and CELL on; changes the state.
void forward(const double *__restrict main, double *__restrict kept, double *__restrict hidden, double *__restrict cell, std::size_t b) {
    const double *bias = main + 4 * b;
    double *k[KEPT];
    for (int i = 0; i < KEPT; ++i) k[i] = kept + i * b;
#pragma omp simd
    for (std::size_t j = 0; j < b; ++j) {
        const double x = k[FED][j], h = k[HIDDEN][j], c = k[CELL][j];
        const double forget = sigmoid(x * main[j] + bias[j]), take = sigmoid(h * main[b + j] + bias[b + j]);
        const double out = sigmoid(x * main[2 * b + j] + bias[2 * b + j]), change = std::tanh(h * main[3 * b + j] + bias[3 * b + j]);
        const double next = c * forget + take * change, squashed = std::tanh(next);
        k[FORGET][j] = forget, k[TAKE][j] = take, k[OUT][j] = out, k[CHANGE][j] = change, k[TANH][j] = squashed;
        cell[j] = next;
        hidden[j] = out * squashed;
    }
}

// One layer's step backwards; `x` is the derivative by what it gave and then by what it was fed.
void backward(const double *__restrict main, const double *__restrict kept, double *__restrict g, double *__restrict H,
              double *__restrict C, double *__restrict x, std::size_t b) {
    double *bias = g + 4 * b;
    const double *k[KEPT];
    for (int i = 0; i < KEPT; ++i) k[i] = kept + i * b;
#pragma omp simd
    for (std::size_t j = 0; j < b; ++j) {
        const double forget = k[FORGET][j], take = k[TAKE][j], out = k[OUT][j], change = k[CHANGE][j], squashed = k[TANH][j];
        const double of_hidden = H[j] + x[j], of_cell = C[j] + of_hidden * out * (1 - squashed * squashed);
        const double f = of_cell * k[CELL][j] * forget * (1 - forget), i = of_cell * change * take * (1 - take);
        const double o = of_hidden * squashed * out * (1 - out), c = of_cell * take * (1 - change * change);
        g[j] += f * k[FED][j], g[b + j] += i * k[HIDDEN][j], g[2 * b + j] += o * k[FED][j], g[3 * b + j] += c * k[HIDDEN][j];
        bias[j] += f, bias[b + j] += i, bias[2 * b + j] += o, bias[3 * b + j] += c;
        x[j] = f * main[j] + o * main[2 * b + j];
        H[j] = i * main[b + j] + c * main[3 * b + j];
        C[j] = of_cell * forget;
    }
}

// The logarithm's argument 2 + sum exp(y), whose terms go to `powers`.
double normalizer(const Question &q, const double *x, double *powers) {
    double sum = 2;
    for (std::size_t j = 0; j < q.b; ++j) sum += powers[j] = std::exp(x[j] * q.extra[q.b + j] + q.extra[2 * q.b + j]);
    return sum;
}

// One time's part of the loss. `kept` has room for all layers, `x` is the last layer's output.
double step(const Question &q, std::size_t t, std::vector<double> &state, double *kept, double *x, double *powers) {
    const std::size_t b = q.b;
    for (std::size_t j = 0; j < b; ++j) x[j] = q.sequence[t * b + j] * q.extra[j];
    for (std::size_t i = 0; i < q.l; ++i, kept += KEPT * b) {
        double *hidden = &state[2 * i * b], *cell = hidden + b;
        for (std::size_t j = 0; j < b; ++j) kept[FED * b + j] = x[j], kept[HIDDEN * b + j] = hidden[j], kept[CELL * b + j] = cell[j];
        forward(&q.main[8 * i * b], kept, hidden, cell, b);
        for (std::size_t j = 0; j < b; ++j) x[j] = hidden[j];
    }
    const double logarithm = std::log(normalizer(q, x, powers));
    double sum = 0;
    for (std::size_t j = 0; j < b; ++j)
        sum += q.sequence[(t + 1) * b + j] * (x[j] * q.extra[b + j] + q.extra[2 * b + j] - logarithm);
    return sum;
}

double value(const Question &q) {
    std::vector<double> state = q.state, kept(q.l * KEPT * q.b), x(q.b), powers(q.b);
    double total = 0;
    for (std::size_t t = 0; t + 1 < q.c; ++t) total += step(q, t, state, kept.data(), x.data(), powers.data());
    return -total / (q.b * (q.c - 1));
}

// By the weights and biases, and then by the extra parameters.
std::vector<double> gradient(const Question &q) {
    const std::size_t b = q.b, width = q.l * KEPT * b, times = q.c - 1;
    std::vector<double> state = q.state, kept(times * width), last(times * b), powers(b);
    for (std::size_t t = 0; t < times; ++t) step(q, t, state, &kept[t * width], &last[t * b], powers.data());
    std::vector<double> g(8 * q.l * b + 3 * b), H(q.l * b), C(q.l * b), x(b);
    double *input = &g[8 * q.l * b], *output = input + b, *bias = output + b;
    const double scale = -1.0 / (b * times);
    for (std::size_t t = times; t-- > 0;) {
        const double *out = &last[t * b], *text = &q.sequence[t * b], *after = text + b;
        const double sum = normalizer(q, out, powers.data());
        double total = 0;
        for (std::size_t j = 0; j < b; ++j) total += after[j];
        for (std::size_t j = 0; j < b; ++j) {
            const double by_y = scale * (after[j] - total * powers[j] / sum);
            output[j] += by_y * out[j];
            bias[j] += by_y;
            x[j] = by_y * q.extra[b + j];
        }
        for (std::size_t i = q.l; i-- > 0;)
            backward(&q.main[8 * i * b], &kept[t * width + i * KEPT * b], &g[8 * i * b], &H[i * b], &C[i * b], x.data(), b);
        for (std::size_t j = 0; j < b; ++j) input[j] += x[j] * text[j];
    }
    return g;
}

Question read(const json::Value &input) {
    Question q;
    q.extra = input.at("extra_params").numbers();
    q.b = q.extra.size() / 3;
    if (q.b == 0) throw std::runtime_error("expected at least one bit a character");
    q.l = input.at("state").array().size() / 2;
    q.main = input.at("main_params").numbers(8 * q.l * q.b);
    q.state = input.at("state").numbers(2 * q.l * q.b);
    q.c = input.at("sequence").array().size();
    if (q.c < 2) throw std::runtime_error("expected at least two characters");
    q.sequence = input.at("sequence").numbers(q.c * q.b);
    return q;
}

} // namespace

int main(int count, char **arguments) {
    return peer::serve(count, arguments, "lstm",
                       {
                           {"objective", [](const json::Value &input) { return peer::number([q = read(input)] { return value(q); }); }},
                           {"jacobian", [](const json::Value &input) { return peer::list([q = read(input)] { return gradient(q); }); }},
                       });
}
