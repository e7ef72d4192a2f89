/** A colon divides issuer and account in the label, so neither may have one. */
const clean = (text: string) => text.toWellFormed().replaceAll(":", " ").trim()

/**
 * What authenticator apps read as a QR code (Key URI Format). `secret` is base32; the rest are the idp's parameters:
 * SHA-1, 6 digits, 30 s.
 */
export const otpauthUri = ({
  account,
  issuer,
  secret
}: {
  account: string
  issuer: string
  secret: string
}): string => {
  const [by, of] = [encodeURIComponent(clean(issuer)), encodeURIComponent(clean(account))]
  return `otpauth://totp/${by}:${of}?secret=${encodeURIComponent(secret)}&issuer=${by}&algorithm=SHA1&digits=6&period=30`
}
