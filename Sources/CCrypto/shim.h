#ifndef GQLRUN_CCRYPTO_SHIM_H
#define GQLRUN_CCRYPTO_SHIM_H
#include <openssl/evp.h>
#include <openssl/hmac.h>

/* EVP_CIPHER_CTX_ctrl takes a pointer to void for every command. */
static inline int gqlrun_gcm_tag(EVP_CIPHER_CTX *context, int size, unsigned char *tag) {
  return EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_GET_TAG, size, tag);
}
static inline int gqlrun_gcm_expect_tag(EVP_CIPHER_CTX *context, int size, unsigned char *tag) {
  return EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_SET_TAG, size, tag);
}
#endif
