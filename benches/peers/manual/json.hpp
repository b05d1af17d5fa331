// JSON: a value, reading it, and writing numbers so that they read back exactly.
#pragma once

#include <charconv>
#include <cmath>
#include <map>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

namespace json {

struct Value;
using Array = std::vector<Value>;
using Object = std::map<std::string, Value>;

struct Value {
    std::variant<std::nullptr_t, bool, double, std::string, Array, Object> is;

    const Value *find(const std::string &field) const {
        const Object *object = std::get_if<Object>(&is);
        if (!object) return nullptr;
        auto found = object->find(field);
        return found == object->end() ? nullptr : &found->second;
    }
    const Value &at(const std::string &field) const {
        const Value *found = find(field);
        if (!found) throw std::runtime_error("field `" + field + "` is missing");
        return *found;
    }
    double number() const {
        if (const double *x = std::get_if<double>(&is)) return *x;
        throw std::runtime_error("expected a number");
    }
    // A number of things.
    std::size_t size() const {
        double x = number();
        if (!(x >= 0 && x < 1e15 && x == std::floor(x))) throw std::runtime_error("expected an integer that is not negative");
        return static_cast<std::size_t>(x);
    }
    const std::string &string() const {
        if (const std::string *text = std::get_if<std::string>(&is)) return *text;
        throw std::runtime_error("expected a string");
    }
    const Array &array() const {
        if (const Array *all = std::get_if<Array>(&is)) return *all;
        throw std::runtime_error("expected a list");
    }
    // All numbers of a list, or of lists of lists, in a row.
    std::vector<double> numbers() const {
        std::vector<double> all;
        append(all);
        return all;
    }
    // As many numbers as expected.
    std::vector<double> numbers(std::size_t count) const {
        std::vector<double> all = numbers();
        if (all.size() != count)
            throw std::runtime_error("expected " + std::to_string(count) + " numbers, found " + std::to_string(all.size()));
        return all;
    }

  private:
    void append(std::vector<double> &all) const {
        if (const double *x = std::get_if<double>(&is)) return all.push_back(*x);
        for (const Value &inner : array()) inner.append(all);
    }
};

// Reads one value that takes up all of a text.
class Reader {
  public:
    explicit Reader(const std::string &text) : at(text.data()), end(text.data() + text.size()) {}

    Value whole() {
        Value value = any();
        blanks();
        if (at != end) wrong();
        return value;
    }

  private:
    const char *at;
    const char *end;

    [[noreturn]] static void wrong() { throw std::runtime_error("a line is no JSON"); }

    void blanks() {
        while (at != end && (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n')) ++at;
    }
    bool next(char c) {
        blanks();
        if (at == end || *at != c) return false;
        ++at;
        return true;
    }
    void word(const char *rest) {
        for (; *rest; ++rest, ++at)
            if (at == end || *at != *rest) wrong();
    }
    Value any() {
        blanks();
        if (at == end) wrong();
        switch (*at) {
        case '{': return {object()};
        case '[': return {list()};
        case '"': return {text()};
        case 't': return word("true"), Value{true};
        case 'f': return word("false"), Value{false};
        case 'n': return word("null"), Value{nullptr};
        default: {
            double x;
            auto [after, error] = std::from_chars(at, end, x);
            if (error != std::errc()) wrong();
            at = after;
            return {x};
        }
        }
    }
    Object object() {
        Object all;
        ++at;
        if (next('}')) return all;
        do {
            blanks();
            if (at == end || *at != '"') wrong();
            std::string name = text();
            if (!next(':')) wrong();
            all[name] = any();
        } while (next(','));
        if (!next('}')) wrong();
        return all;
    }
    Array list() {
        Array all;
        ++at;
        if (next(']')) return all;
        do all.push_back(any());
        while (next(','));
        if (!next(']')) wrong();
        return all;
    }
    // Escapes stay as they are written: nothing that is asked for by name has any.
    std::string text() {
        const char *start = ++at;
        while (at != end && *at != '"') at += *at == '\\' && at + 1 != end ? 2 : 1;
        if (at == end) wrong();
        return std::string(start, at++);
    }
};

// Writes a number; what is not finite becomes `null`. The exponent's bits decide, as optimizations for finite numbers leave them alone.
inline void write(std::string &out, double x) {
    unsigned long long bits;
    static_assert(sizeof bits == sizeof x);
    __builtin_memcpy(&bits, &x, sizeof x);
    if ((bits >> 52 & 0x7ff) == 0x7ff) {
        out += "null";
        return;
    }
    char digits[32];
    auto [after, error] = std::to_chars(digits, digits + sizeof digits, x);
    out.append(digits, error == std::errc() ? after : digits);
}

inline void write(std::string &out, long long x) { out += std::to_string(x); }

template <class T> void write(std::string &out, const std::vector<T> &all) {
    out += '[';
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (i) out += ',';
        write(out, all[i]);
    }
    out += ']';
}

// Rows of so many numbers.
inline void write_rows(std::string &out, const std::vector<double> &all, std::size_t rows, std::size_t columns) {
    out += '[';
    for (std::size_t i = 0; i < rows; ++i) {
        if (i) out += ',';
        write(out, std::vector<double>(all.begin() + i * columns, all.begin() + (i + 1) * columns));
    }
    out += ']';
}

inline void write_text(std::string &out, const std::string &text) {
    out += '"';
    for (char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
    out += '"';
}

} // namespace json
