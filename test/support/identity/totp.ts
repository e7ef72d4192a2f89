import { Secret, TOTP } from "otpauth"

const appOf = (secret: string) =>
  new TOTP({ secret: Secret.fromBase32(secret), digits: 6, period: 30, algorithm: "SHA1" })

/** The code of an authenticator app for a base32 secret. `at`: ms since 1970. */
export const totpCode = (secret: string, at = Date.now()) => appOf(secret).generate({ timestamp: at })

/** The code after it, which is accepted up to 30 s early. A code that has added an app, or signed in, counts no more. */
export const nextTotpCode = (secret: string) => totpCode(secret, Date.now() + 30_000)

/** Six digits that are not the code of the secret, nor of the adjacent time steps. */
export const wrongTotpCode = (secret: string) => {
  const right = new Set([-60_000, -30_000, 0, 30_000, 60_000].map((ms) => totpCode(secret, Date.now() + ms)))
  return ["000000", "111111", "222222", "333333", "444444", "555555"].find((code) => !right.has(code))!
}
