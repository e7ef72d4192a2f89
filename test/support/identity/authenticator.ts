import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto"

/** The options that a page passes to `navigator.credentials.create`, as JSON (WebAuthn 3). */
interface CreationOptions {
  readonly challenge: string
  readonly rp: { readonly id?: string }
  readonly user: { readonly id: string }
  readonly pubKeyCredParams: ReadonlyArray<{ readonly alg: number }>
  readonly excludeCredentials?: ReadonlyArray<{ readonly id: string }>
}

/** The same for `navigator.credentials.get`. */
interface RequestOptions {
  readonly challenge: string
  readonly rpId?: string
  readonly allowCredentials?: ReadonlyArray<{ readonly id: string }>
}

interface Key {
  readonly id: Buffer
  readonly privateKey: KeyObject
  readonly rpId: string
  readonly userHandle: string
  count: number
}

type Json = Readonly<Record<string, unknown>>

/** Flags of authenticator data: user present, user verified, attested credential data. */
const present = 0x01
const verified = 0x04
const attested = 0x40

const sha256 = (data: string | Buffer) => createHash("sha256").update(data).digest()
const encoded = (data: Buffer) => data.toString("base64url")

const head = (major: number, value: number): Buffer => {
  if (value < 24) return Buffer.from([(major << 5) | value])
  return value < 256
    ? Buffer.from([(major << 5) | 24, value])
    : Buffer.from([(major << 5) | 25, value >> 8, value & 0xff])
}

/** Encodes the CBOR of attestations. */
const cbor = (value: number | string | Buffer | Map<number | string, unknown>): Buffer => {
  if (typeof value === "number") return value < 0 ? head(1, -1 - value) : head(0, value)
  if (typeof value === "string") return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)])
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value])
  const entries = [...value].flatMap(([key, one]) => [cbor(key), cbor(one as never)])
  return Buffer.concat([head(5, value.size), ...entries])
}

/**
 * A security key or passkey in software: ES256, attestation "none", user always present. It stores its
 * keys; `origin` is the page's.
 */
export class Authenticator {
  readonly #keys: Array<Key> = []
  readonly #origin: string
  /** Whether it verifies its owner. */
  verifies = true

  constructor(origin: string) {
    this.#origin = origin
  }

  /** The result of `navigator.credentials.create` as JSON text. Throws when its key is excluded. */
  create(options: unknown): string {
    const { challenge, excludeCredentials, pubKeyCredParams, rp, user } = options as CreationOptions
    if (!pubKeyCredParams.some(({ alg }) => alg === -7)) throw new Error("ES256 is not among the requested algorithms")
    if (excludeCredentials?.some(({ id }) => this.#find(id) !== undefined)) throw new Error("InvalidStateError")
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
    const { x, y } = publicKey.export({ format: "jwk" })
    const rpId = rp.id ?? new URL(this.#origin).hostname
    const key: Key = { id: randomBytes(32), privateKey, rpId, userHandle: user.id, count: 0 }
    this.#keys.push(key)
    const cose = new Map<number, unknown>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, Buffer.from(x!, "base64url")],
      [-3, Buffer.from(y!, "base64url")]
    ])
    const data = Buffer.concat([
      this.#data(key, this.#seen() | attested),
      Buffer.alloc(16),
      Buffer.from([0, key.id.length]),
      key.id,
      cbor(cose)
    ])
    const attestationObject = cbor(
      new Map<string, unknown>([
        ["fmt", "none"],
        ["attStmt", new Map()],
        ["authData", data]
      ])
    )
    return this.#credential(key, {
      attestationObject: encoded(attestationObject),
      clientDataJSON: encoded(this.#clientData("webauthn.create", challenge)),
      transports: ["internal"]
    })
  }

  /** The result of `navigator.credentials.get`, with the newest matching key and its user handle, as for passkeys. */
  get(options: unknown): string {
    const { allowCredentials, challenge, rpId } = options as RequestOptions
    const allowed = allowCredentials?.map(({ id }) => Buffer.from(id, "base64url").toString("hex"))
    const key = this.#keys.findLast(
      (key) =>
        (rpId === undefined || key.rpId === rpId) && (allowed === undefined || allowed.includes(key.id.toString("hex")))
    )
    if (key === undefined) throw new Error("NotAllowedError")
    const data = this.#data(key, this.#seen())
    const clientData = this.#clientData("webauthn.get", challenge)
    const signature = sign("sha256", Buffer.concat([data, sha256(clientData)]), key.privateKey)
    return this.#credential(key, {
      authenticatorData: encoded(data),
      clientDataJSON: encoded(clientData),
      signature: encoded(signature),
      userHandle: key.userHandle
    })
  }

  /** Id of the newest key, base64url. */
  get lastId() {
    return encoded(this.#keys.at(-1)!.id)
  }

  #seen() {
    return this.verifies ? present | verified : present
  }

  #find(id: string) {
    return this.#keys.find((key) => key.id.equals(Buffer.from(id, "base64url")))
  }

  #clientData(type: string, challenge: string) {
    return Buffer.from(JSON.stringify({ type, challenge, origin: this.#origin, crossOrigin: false }))
  }

  #data(key: Key, flags: number) {
    const counter = Buffer.alloc(4)
    counter.writeUInt32BE(++key.count)
    return Buffer.concat([sha256(key.rpId), Buffer.from([flags]), counter])
  }

  #credential(key: Key, response: Json) {
    const id = encoded(key.id)
    return JSON.stringify({ id, rawId: id, type: "public-key", response, clientExtensionResults: {} })
  }
}
