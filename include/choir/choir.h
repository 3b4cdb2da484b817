/* choir.h: what a program can ask of choir. Link with -lchoir; works with and without `choir run`.
 */
#ifndef CHOIR_CHOIR_H
#define CHOIR_CHOIR_H

#ifdef __cplusplus
extern "C" {
#endif

/* "0.1.0": of the library the program is linked with. */
const char* choir_version(void);

/* 1 if choir's front door is loaded and serves this program's collective I/O, 0 if not. */
int choir_active(void);

#ifdef __cplusplus
}
#endif

#endif
