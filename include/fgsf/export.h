// Marks what the library exports. The shared library hides everything else.
//
//     FGSF_BEGIN_DECLS                    // extern "C" where the compiler is one for C++
//     FGSF_API int fgsf_answer(void);
//     FGSF_END_DECLS
#ifndef FGSF_EXPORT_H
#define FGSF_EXPORT_H

#if defined(__GNUC__)
#define FGSF_API __attribute__((visibility("default")))
#define FGSF_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define FGSF_API
#define FGSF_PRINTF(fmt, args)
#endif

#ifdef __cplusplus
#define FGSF_BEGIN_DECLS extern "C" {
#define FGSF_END_DECLS }
#else
#define FGSF_BEGIN_DECLS
#define FGSF_END_DECLS
#endif

#endif
