/* Debian's static HDF5 can read files from Amazon's S3 ("ros3"), and so wants libcurl and OpenSSL,
   which bring thirty libraries along. Nothing here opens such files: these stand in for what that
   driver calls, and end the program if it is reached after all. */
#include <stdio.h>
#include <stdlib.h>

static void *refuse(void) {
  fputs("stap: HDF5 files on S3 are not supported\n", stderr);
  abort();
}

#define STAND_IN(name) \
  void *name(void);    \
  void *name(void) { return refuse(); }

STAND_IN(EVP_sha256)
STAND_IN(HMAC)
STAND_IN(SHA256)
STAND_IN(curl_easy_cleanup)
STAND_IN(curl_easy_init)
STAND_IN(curl_easy_perform)
STAND_IN(curl_easy_setopt)
STAND_IN(curl_global_cleanup)
STAND_IN(curl_global_init)
STAND_IN(curl_slist_append)
STAND_IN(curl_slist_free_all)
