import { isPlainText } from "../text/StorableText.ts"

/** Lengths in characters as users count them. */
const minLength = 8
/** Longer passwords only make hashing and parsing slow. */
const maxLength = 256

/** The passwords of at least 8 characters that attackers try first. */
const common = new Set(
  `12345678 123456789 1234567890 0123456789 11111111 00000000 88888888 87654321 987654321 123123123 12341234 password
   password1 password12 password123 passw0rd p@ssw0rd p@ssword qwertyui qwertyuiop qwerty12 qwerty123 1q2w3e4r 1qaz2wsx
   1q2w3e4r5t zaq12wsx asdfghjk asdfghjkl zxcvbnm1 abcd1234 abc12345 abcdefgh a1b2c3d4 iloveyou iloveyou1 sunshine
   princess football baseball basketball superman batman123 trustno1 welcome1 welcome123 letmein1 letmein123 admin123
   administrator changeme changeit whatever starwars computer internet michelle jennifer jordan23 michael1 dragon123
   monkey123 shadow12 master12 qazwsxedc 1234qwer q1w2e3r4 test1234 testtest secret123 password! pa55word default1
   qwer1234 11223344 12121212 66666666 77777777 99999999 22222222 55555555 asdf1234 aa123456 a1234567 passwort
   hallo123 schalke04 hunter22 pokemon1 liverpool charlie1 ashley12 daniel12 mustang1 corvette mercedes`.split(/\s+/)
)

/** The form in which passwords are compared: keyboards write the same character in different ways. */
export const comparedPassword = (password: string): string => password.normalize("NFKC")

/** The faults of a new password. */
export const passwordFaults = {
  long: `The password must be at most ${maxLength} characters long`,
  short: `The password must be at least ${minLength} characters long`,
  characters: "The password must not contain control characters or half surrogate pairs",
  common: "The password is one of those that attackers try first",
  address: "The password must not be the e-mail address"
}

/** The fault of a new password, as an error of the field; undefined if there is none. */
export const passwordFault = (password: string, address?: string): string | undefined => {
  const compared = password.length > maxLength * 4 ? undefined : comparedPassword(password)
  if (compared === undefined || Array.from(compared).length > maxLength) {
    return passwordFaults.long
  }
  if (Array.from(compared).length < minLength) return passwordFaults.short
  if (!isPlainText(compared)) return passwordFaults.characters
  const lower = compared.toLowerCase()
  if (common.has(lower) || new Set(lower).size < 3) return passwordFaults.common
  if (address !== undefined && (lower === address.toLowerCase() || lower === address.split("@")[0]?.toLowerCase())) {
    return passwordFaults.address
  }
  return undefined
}

/** Upper limits of what verifying an imported hash may cost: memory in KiB, passes, threads; rounds of bcrypt as 2^n. */
const maxArgon2 = { m: 131_072, t: 6, p: 8 }
const maxBcrypt = 14

/**
 * Whether a password hash can be imported: argon2 as a PHC string, or bcrypt as a modular crypt string. Hashes that would
 * take seconds or hundreds of MB to verify are not: each sign-in would, also a failed one.
 */
export const isImportableHash = (hash: string): boolean => {
  const argon2 =
    /^\$argon2(?:id|i|d)\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,3})\$[A-Za-z0-9+/]{11,88}\$[A-Za-z0-9+/]{22,88}$/.exec(
      hash
    )
  if (argon2 !== null) {
    const [m = 0, t = 0, p = 0] = argon2.slice(1).map(Number)
    return m >= 8 * p && m <= maxArgon2.m && t >= 1 && t <= maxArgon2.t && p >= 1 && p <= maxArgon2.p
  }
  const bcrypt = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/.exec(hash)
  return bcrypt !== null && Number(bcrypt[1]) >= 4 && Number(bcrypt[1]) <= maxBcrypt
}
