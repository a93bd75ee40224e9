# distutils: language = c++
# cython: boundscheck=False, wraparound=False, cdivision=True
"""Draw a token from logits in CPU memory under a mask, in one pass over them and without writing anything.

A draw inverts the cumulative distribution of the allowed logits over ascending ids.  Blocks of 512 logits are read from
memory once: while a block is in the processor's nearest cache, its largest allowed logit is found and the weights
beside it are summed, so a block's sum needs no second look when the row's largest logit is known.  The mask is read in
the same pass, a word for 32 tokens: what it forbids counts as minus infinity, and where a word allows nothing the
logits are not looked at.  So a mask adds its own 16 KB to a row's 512 KB and nothing else, and the logits stay as they
were.  The block in which the draw falls is weighed once more.

All logits of the row are there, and the distribution is that of all that are allowed: nothing is gathered.  Top-k and
top-p order all weights, so they are drawn elsewhere (`workbench/generation/sampling.py`).

Read on: `../mask_rows.pyx`, whose `draw` calls this for many rows.
"""

from libc.stdint cimport int64_t, uint32_t

cdef extern from *:
    """
    #include <float.h>
    #include <math.h>
    #include <stdint.h>
    #include <string.h>

    #if defined(__clang__)
    #pragma clang fp contract(fast)
    #endif

    namespace maskscope_drawing {

    enum { BLOCK = 512 };   // logits that lie in the processor's nearest cache while they are read twice

    struct Setting {
        double uniform;     // 0 <= u < 1
        float scale;        // 1 / (temperature * ln 2), from 0 up; below 0: take the largest logit
        float least;        // weights below 2^least, beside the largest of 1, count as 0; from -126 to 0
    };

    const float SMALLEST = -126.0f;     // below it a float is denormal

    template <int L> struct Vectors {
        typedef float Floats __attribute__((vector_size(4 * L)));
        typedef int32_t Ints __attribute__((vector_size(4 * L)));
    };

    // A word of a mask and its 32 logits, in vectors of L numbers: as wide as the processor's registers.
    template <int L> struct Lanes {
        typedef typename Vectors<L>::Floats Floats;
        typedef typename Vectors<L>::Ints Ints;
        enum { PARTS = 32 / L };

        // Where the 32 logits of a word are read: in the row, or in `copy` with minus infinity where the mask (NULL: none)
        // has a 0 and beyond the end of a block of `count`.  NULL where all of them are so.
        static inline __attribute__((always_inline)) const float* find(
            const float* row, int word, int count, const uint32_t* words, float* copy
        ) {
            const uint32_t bits = words == NULL ? ~(uint32_t)0 : words[word];
            const int left = count - 32 * word;
            row += 32 * word;
            if (bits == ~(uint32_t)0 && left >= 32)
                return row;
            if (!bits)
                return NULL;
            if (left < 32) {
                for (int i = 0; i < 32; i++)
                    copy[i] = i < left && bits >> i & 1 ? row[i] : -INFINITY;
                return copy;
            }
            Ints own;
            for (int i = 0; i < L; i++)
                own[i] = 1 << i;
            for (int part = 0; part < PARTS; part++) {
                Floats here;
                memcpy(&here, row + L * part, sizeof(Floats));
                here = (own & (int32_t)(bits >> (L * part))) == own ? here : (Floats){} - INFINITY;
                memcpy(copy + L * part, &here, sizeof(Floats));
            }
            return copy;
        }

        // The largest logit that is allowed: minus infinity where none is, NaN where one of them is.
        static inline __attribute__((always_inline)) float largest(const float* row, int count, const uint32_t* words) {
            Floats most = (Floats){} - INFINITY, here;
            Ints strange = (Ints){};
            float copy[32];
            for (int word = 0; 32 * word < count; word++) {
                const float* from = find(row, word, count, words, copy);
                if (from == NULL)
                    continue;
                for (int part = 0; part < PARTS; part++) {
                    memcpy(&here, from + L * part, sizeof(Floats));
                    most = here > most ? here : most;
                    strange |= here != here;
                }
            }
            float found = -INFINITY;
            for (int i = 0; i < L; i++) {
                if (strange[i])
                    return NAN;
                if (most[i] > found)
                    found = most[i];
            }
            return found;
        }

        // Weights 2^(scale * (logit - most)) of a block, those below 2^least 0; their sum.  `into`: where to put them.
        static inline __attribute__((always_inline)) double weigh(
            const float* row, int count, const uint32_t* words, float most, float scale, float least, float* into
        ) {
            const float round = 12582912.0f;    // 1.5 * 2^23: adding it leaves a whole number in the last bits
            const Ints round_bits = (Ints)((Floats){} + round);
            Floats sum = {}, here;
            float copy[32];
            for (int word = 0; 32 * word < count; word++) {
                const float* from = find(row, word, count, words, copy);
                if (from == NULL) {
                    if (into != NULL)
                        memset(into + 32 * word, 0, 32 * sizeof(float));
                    continue;
                }
                for (int part = 0; part < PARTS; part++) {
                    memcpy(&here, from + L * part, sizeof(Floats));
                    Floats power = (here - most) * scale;
                    Floats rounded = power + round;
                    Floats rest = power - (rounded - round);    // from -1/2 to 1/2
                    // 2^rest, to a relative error of 2e-9 before rounding (a minimax fit).
                    Floats found = rest * 0x1.41d332p-13f + 0x1.5f456ap-10f;
                    found = found * rest + 0x1.3b2dbcp-7f;
                    found = found * rest + 0x1.c6aed4p-5f;
                    found = found * rest + 0x1.ebfbdap-3f;
                    found = found * rest + 0x1.62e430p-1f;
                    found = found * rest + 1.0f;
                    found = (Floats)((Ints)found + (((Ints)rounded - round_bits) << 23));
                    // Far below, also of minus infinity, the bits mean nothing: none of them is kept.
                    found = (Floats)((Ints)(power >= least) & (Ints)found);
                    sum += found;
                    if (into != NULL)
                        memcpy(into + 32 * word + L * part, &found, sizeof(Floats));
                }
            }
            double total = 0;
            for (int i = 0; i < L; i++)
                total += sum[i];
            return total;
        }
    };

    // `draw_row`, by vectors of L numbers.
    template <int L> static inline __attribute__((always_inline)) int64_t draw(
        const float* row, int64_t width, const uint32_t* words, const Setting* setting, float* largests, double* sums
    ) {
        const int64_t blocks = (width + BLOCK - 1) / BLOCK;
        const float scale = setting->scale, least = setting->least;
        const bool whole = least == SMALLEST;   // nothing is left out, so a block's weights can be those beside its largest
        float most = -INFINITY;
        for (int64_t b = 0; b < blocks; b++) {
            const int64_t first = b * BLOCK;
            const int count = (int)(width - first < BLOCK ? width - first : BLOCK);
            const uint32_t* here = words == NULL ? NULL : words + first / 32;
            const float found = largests[b] = Lanes<L>::largest(row + first, count, here);
            if (found != found || found == INFINITY)
                return -2;
            if (found > most)
                most = found;
            sums[b] = 0;
            if (scale >= 0 && whole && found > -INFINITY)
                sums[b] = Lanes<L>::weigh(row + first, count, here, found, scale, least, NULL);
        }
        if (most == -INFINITY)
            return -1;
        if (scale < 0) {
            int64_t i = 0;
            while (largests[i / BLOCK] != most)
                i += BLOCK;
            while (row[i] != most || (words != NULL && !(words[i >> 5] >> (i & 31) & 1)))
                i++;
            return i;
        }
        double total = 0;
        int64_t last = 0;
        for (int64_t b = 0; b < blocks; b++) {
            const float power = (largests[b] - most) * scale;
            const int64_t first = b * BLOCK;
            const int count = (int)(width - first < BLOCK ? width - first : BLOCK);
            if (whole && sums[b] > 0)       // else nothing is allowed here, and times a scale of 0 it would be NaN
                sums[b] *= exp2((double)power);
            else if (power >= least)
                sums[b] = Lanes<L>::weigh(
                    row + first, count, words == NULL ? NULL : words + first / 32, most, scale, least, NULL);
            total += sums[b];
            if (sums[b] > 0)
                last = b;
        }
        const double target = setting->uniform * total;
        double before = 0;
        int64_t b = 0;
        while (b < last && !(before + sums[b] > target))
            before += sums[b++];
        const int64_t first = b * BLOCK;
        const int count = (int)(width - first < BLOCK ? width - first : BLOCK);
        const float beside = whole ? largests[b] : most;
        float weights[BLOCK];
        Lanes<L>::weigh(
            row + first, count, words == NULL ? NULL : words + first / 32, beside, scale, least, weights);
        double left = target - before;
        if (whole)
            left /= exp2((double)((beside - most) * scale));
        // Sums of a block are rounded otherwise than sums inside it: the last weight that counts takes what is beyond.
        int found = 0;
        for (int i = 0; i < count; i++) {
            if (weights[i] == 0)
                continue;
            found = i;
            left -= weights[i];
            if (left < 0)
                break;
        }
        return first + found;
    }

    static int64_t draw_plain(
        const float* row, int64_t width, const uint32_t* words, const Setting* setting, float* largests, double* sums
    ) {
        return draw<4>(row, width, words, setting, largests, sums);
    }

    #if defined(__x86_64__) && !defined(_WIN32)
    __attribute__((target("avx2,fma"))) static int64_t draw_wide(
        const float* row, int64_t width, const uint32_t* words, const Setting* setting, float* largests, double* sums
    ) {
        return draw<8>(row, width, words, setting, largests, sums);
    }
    #endif

    typedef int64_t (*Draw)(const float*, int64_t, const uint32_t*, const Setting*, float*, double*);

    static inline Draw find_draw() {
    #if defined(__x86_64__) && !defined(_WIN32)
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
            return draw_wide;
    #endif
        return draw_plain;
    }

    }
    """
    cdef struct Setting "maskscope_drawing::Setting":
        double uniform
        float scale
        float least
    ctypedef int64_t (*Draw "maskscope_drawing::Draw")(
        const float*, int64_t, const uint32_t*, const Setting*, float*, double*) noexcept nogil
    Draw find_draw "maskscope_drawing::find_draw"() noexcept nogil
    const int BLOCK "maskscope_drawing::BLOCK"
    const float SMALLEST "maskscope_drawing::SMALLEST"
    float FLT_MAX
    double M_LOG2E
    double log2(double) nogil

cdef Draw draw = find_draw()


cdef int64_t draw_row(
    const float* row, int64_t width, const uint32_t* words, double temperature, double floor, double uniform,
    char* scratch,
) noexcept nogil:
    """The place in `row`, of `width` logits, at which the sum of weights passes its share `uniform` of the whole.

    words: one bit a logit (NULL: all are allowed).  temperature: 0 takes the largest logit.  floor: what is less likely
    than so many times the likeliest is left out.  scratch: `scratch_bytes(width)` bytes, aligned for doubles.
    Returns -1 where no logit above minus infinity is allowed, or -2 where an allowed one is NaN or infinite.
    """
    cdef Setting setting
    cdef int64_t blocks = (width + BLOCK - 1) // BLOCK
    setting.uniform, setting.scale, setting.least = uniform, -1, SMALLEST
    if temperature > 0:
        setting.scale = <float>min(M_LOG2E / temperature, <double>FLT_MAX)
    if floor > 0:
        setting.least = <float>max(log2(floor), <double>SMALLEST)
    return draw(row, width, words, &setting, <float*>(scratch + blocks * sizeof(double)), <double*>scratch)


cdef int64_t scratch_bytes(int64_t width) noexcept nogil:
    """What `draw_row` needs for rows of `width` logits."""
    return ((width + BLOCK - 1) // BLOCK) * <int64_t>(sizeof(double) + sizeof(float))
