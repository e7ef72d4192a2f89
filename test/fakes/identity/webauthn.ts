import { createHash, createPublicKey, verify } from "node:crypto"
import { decodeFirst } from "cborg"
import { type SecurityKey } from "./state.ts"

/** The relying party, and the challenge that it issued (base64url). */
interface Expected {
  readonly rpId: string
  readonly origins: ReadonlyArray<string>
  readonly challenge: string
}

interface Credential {
  readonly id: string
  readonly rawId: string
  readonly type: string
  readonly response: Readonly<Record<string, unknown>>
}

/** The text is not a credential, which is another error than one that can't be verified. */
export class Unparsable extends Error {}

const bytes = (text: string) => Buffer.from(text, "base64url")
const sha256 = (data: string | Buffer) => createHash("sha256").update(data).digest()

const check = (holds: boolean, what: string) => {
  if (!holds) throw new Error(what)
}

/** `needed`: the required fields of the response, as base64url. */
const parse = (text: string, needed: ReadonlyArray<string>) => {
  let credential: Credential
  try {
    credential = JSON.parse(text) as Credential
  } catch {
    throw new Unparsable("not JSON")
  }
  const whole =
    typeof credential === "object" &&
    credential?.type === "public-key" &&
    typeof credential.rawId === "string" &&
    typeof credential.response === "object" &&
    needed.every((name) => typeof credential.response[name] === "string")
  if (!whole) throw new Unparsable("Parse error for credential")
  return credential
}

const cborOf = (data: Buffer) => decodeFirst(data, { useMaps: true })[0] as ReadonlyMap<unknown, unknown>

const field = ({ response }: Credential, name: string) => bytes(String(response[name]))

const checkClientData = (credential: Credential, type: string, { challenge, origins }: Expected) => {
  const data = JSON.parse(field(credential, "clientDataJSON").toString("utf8")) as Readonly<Record<string, unknown>>
  check(data["type"] === type, "Error validating type")
  check(data["challenge"] === challenge, "Error validating challenge")
  check(origins.includes(String(data["origin"])), "Error validating origin")
}

/** Checks the relying party and the user-present flag of authenticator data. */
const checkData = (data: Buffer, { rpId }: Expected) => {
  check(data.length >= 37 && data.subarray(0, 32).equals(sha256(rpId)), "Error validating the RP ID")
  const flags = data[32]!
  check((flags & 0x01) !== 0, "User presence flag not set")
  return flags
}

/** Reads a new key. Only supports attestation format "none" and ES256. Throws when it can't be verified. */
export const verifyAttestation = (text: string, expected: Expected): Pick<SecurityKey, "id" | "publicKey"> => {
  const credential = parse(text, ["attestationObject", "clientDataJSON"])
  const object = cborOf(field(credential, "attestationObject"))
  check(object.get("fmt") === "none", "Unknown attestation format")
  const data = Buffer.from(object.get("authData") as Uint8Array)
  checkClientData(credential, "webauthn.create", expected)
  check((checkData(data, expected) & 0x40) !== 0, "No attested credential data")
  const length = data.readUInt16BE(53)
  const id = Buffer.from(data.subarray(55, 55 + length))
  check(id.length === length && id.equals(bytes(credential.rawId)), "The ids differ")
  const key = cborOf(data.subarray(55 + length))
  check(key.get(1) === 2 && key.get(3) === -7 && key.get(-1) === 1, "Not an ES256 key")
  const [x, y] = [key.get(-2), key.get(-3)].map((part) => Buffer.from(part as Uint8Array).toString("base64url"))
  const publicKey = createPublicKey({ format: "jwk", key: { kty: "EC", crv: "P-256", x: x!, y: y! } })
  return { id, publicKey: publicKey.export({ type: "spki", format: "pem" }) as string }
}

/** The user handle of an assertion, "" when it has none. Throws when the text is not an assertion. */
export const handleOf = (text: string) => {
  const credential = parse(text, ["authenticatorData", "clientDataJSON", "signature"])
  return String(credential.response["userHandle"] ?? "")
}

/** The key that signed. Throws when none did. Ignores counters. */
export const verifyAssertion = (text: string, expected: Expected, keys: ReadonlyArray<SecurityKey>): SecurityKey => {
  const credential = parse(text, ["authenticatorData", "clientDataJSON", "signature"])
  const key = keys.find(({ id }) => id.equals(bytes(credential.rawId)))
  if (key === undefined) throw new Error("Unable to find the credential")
  checkClientData(credential, "webauthn.get", expected)
  const data = field(credential, "authenticatorData")
  checkData(data, expected)
  const signed = Buffer.concat([data, sha256(field(credential, "clientDataJSON"))])
  check(verify("sha256", signed, key.publicKey, field(credential, "signature")), "Error validating the signature")
  return key
}
