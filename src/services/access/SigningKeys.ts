import { compactVerify, createRemoteJWKSet, errors } from "jose"

/** Asymmetric only: a key of a public set must never serve as an HMAC secret. */
export const publicKeyAlgorithms: ReadonlyArray<string> =
  "RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519".split(" ")

/** The set is fetched again after this time, so that a removed key is refused within it. */
const freshMillis = 60_000
/** How long the last set stays valid while its URL is unreachable. */
const staleMillis = 600_000
/** Minimum time between two fetches, after a failure or for an unknown key id. */
const pauseMillis = 5_000

/** The key set is unavailable, so that the token can be neither accepted nor refused. */
export class KeysUnreachable extends Error {}

interface Verified {
  readonly payload: Uint8Array
  /** How long the result is valid, in milliseconds since 1970. */
  readonly until: number
}

/**
 * The public keys at a JWKS URL: fetched when needed, shared by all requests, refreshed. jose fetches them and finds the
 * key of a token; this class decides when, so that the last set stays in use during an outage. Times in milliseconds.
 */
export class SigningKeys {
  private readonly keys: ReturnType<typeof createRemoteJWKSet>
  private readonly now: () => number
  private fetchedAt = Number.NEGATIVE_INFINITY
  private triedAt = Number.NEGATIVE_INFINITY
  private failed = false
  private unreported: unknown
  private pending: Promise<void> | undefined

  constructor(url: URL, now: () => number) {
    this.keys = createRemoteJWKSet(url, { timeoutDuration: 5_000, cacheMaxAge: Infinity, cooldownDuration: Infinity })
    this.now = now
  }

  /** Verifies the signature. Rejects with a `KeysUnreachable`, or with any other error when the token is invalid. */
  async verify(token: string): Promise<Verified> {
    await this.ensure()
    try {
      return await this.attempt(token)
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
      const before = this.fetchedAt
      await this.refresh()
      // The key may be newer than the set: without a newer set a rotation looks the same as a forgery.
      if (this.failed) throw new KeysUnreachable()
      if (this.fetchedAt === before) throw error
      return this.attempt(token)
    }
  }

  /** Why the last fetch failed; returned once. */
  takeFailure(): unknown {
    const failure = this.unreported
    this.unreported = undefined
    return failure
  }

  private async ensure(): Promise<void> {
    const age = this.now() - this.fetchedAt
    if (age < freshMillis) return
    const refreshed = this.refresh()
    // During an outage requests don't wait for the time-out while the last set is still valid.
    if (!this.failed || age >= staleMillis) await refreshed
    if (this.now() - this.fetchedAt >= staleMillis) throw new KeysUnreachable()
  }

  /** One fetch at a time, never rejects. */
  private refresh(): Promise<void> {
    if (this.pending === undefined) {
      if (this.now() - this.triedAt < pauseMillis) return Promise.resolve()
      this.pending = this.fetch().finally(() => {
        this.triedAt = this.now()
        this.pending = undefined
      })
    }
    return this.pending
  }

  private async fetch(): Promise<void> {
    try {
      await this.keys.reload()
      this.fetchedAt = this.now()
      this.failed = false
    } catch (cause) {
      this.failed = true
      this.unreported = cause
    }
  }

  private async attempt(token: string): Promise<Verified> {
    const until = this.failed ? this.now() + pauseMillis : this.fetchedAt + freshMillis
    const options = { algorithms: [...publicKeyAlgorithms] }
    try {
      return { payload: (await compactVerify(token, this.keys, options)).payload, until }
    } catch (error) {
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error
      // The token has no key id, and several keys are of its type.
      for await (const key of error) {
        const verified = await compactVerify(token, key, options).catch(() => undefined)
        if (verified !== undefined) return { payload: verified.payload, until }
      }
      throw new errors.JWSSignatureVerificationFailed()
    }
  }
}
