#ifndef SOFTMAX_DISPATCH_EXPORT_H_
#define SOFTMAX_DISPATCH_EXPORT_H_

/* Marks what libsoftmax_dispatch.so exports; everything else in it is hidden. */
#if defined(__GNUC__)
#define SOFTMAX_DISPATCH_API __attribute__((visibility("default")))
#else
#define SOFTMAX_DISPATCH_API
#endif

#endif /* SOFTMAX_DISPATCH_EXPORT_H_ */
