import { compactVerify, createLocalJWKSet, errors, type JSONWebKeySet } from "jose"

/** Asymmetric only: a key of a public set must never serve as an HMAC secret. */
export const publicKeyAlgorithms: ReadonlyArray<string> =
  "RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519".split(" ")

/** A set is fetched again after this time, so that a removed key is refused within it. */
const freshMillis = 60_000
/** While its address does not answer, the last set is good for this long. */
const staleMillis = 600_000
/** Between two attempts to fetch, whether they failed or an unknown key id asked for them. */
const pauseMillis = 5_000
const timeoutMillis = 5_000

/** The set can't be had now, so that nothing can be said about the token. */
export class KeysUnreachable extends Error {}

/** The public keys at a JWKS address: fetched when needed, shared by all requests, refreshed. Times in milliseconds. */
export class SigningKeys {
  private keys: ReturnType<typeof createLocalJWKSet> | undefined
  private fetchedAt = Number.NEGATIVE_INFINITY
  private triedAt = Number.NEGATIVE_INFINITY
  private failed = false
  private unreported: unknown
  private pending: Promise<void> | undefined
  private readonly url: URL
  private readonly now: () => number

  constructor(url: URL, now: () => number) {
    this.url = url
    this.now = now
  }

  /**
   * Verifies the signature. Gives the payload's bytes and until when this may be believed without asking again.
   * Rejects with a `KeysUnreachable`, or with any other error when the token is not good.
   */
  async verify(token: string): Promise<{ readonly payload: Uint8Array; readonly until: number }> {
    await this.ensure()
    try {
      return await this.attempt(token)
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
      const before = this.keys
      await this.refresh()
      // The key may be newer than our set: without a newer set nobody can tell a rotation from a forgery.
      if (this.failed) throw new KeysUnreachable()
      if (this.keys === before) throw error
      return this.attempt(token)
    }
  }

  /** Why the last fetch failed, told once. */
  takeFailure(): unknown {
    const failure = this.unreported
    this.unreported = undefined
    return failure
  }

  private async ensure(): Promise<void> {
    const age = this.now() - this.fetchedAt
    if (age < freshMillis) return
    const refreshed = this.refresh()
    // In an outage nobody waits for a time-out as long as the last set may be used.
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
      const response = await fetch(this.url, {
        headers: { accept: "application/json, application/jwk-set+json" },
        redirect: "error",
        signal: AbortSignal.timeout(timeoutMillis)
      })
      if (response.status !== 200) throw new Error(`Status ${response.status} instead of 200`)
      // The library checks the shape.
      this.keys = createLocalJWKSet((await response.json()) as JSONWebKeySet)
      this.fetchedAt = this.now()
      this.failed = false
    } catch (cause) {
      this.failed = true
      this.unreported = cause
    }
  }

  private async attempt(token: string): Promise<{ readonly payload: Uint8Array; readonly until: number }> {
    if (this.keys === undefined) throw new KeysUnreachable()
    const until = this.failed ? this.now() + pauseMillis : this.fetchedAt + freshMillis
    const options = { algorithms: [...publicKeyAlgorithms] }
    try {
      const { payload } = await compactVerify(token, this.keys, options)
      return { payload, until }
    } catch (error) {
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error
      // No key id in the token, and several keys of its type.
      for await (const key of error) {
        const verified = await compactVerify(token, key, options).catch(() => undefined)
        if (verified !== undefined) return { payload: verified.payload, until }
      }
      throw new errors.JWSSignatureVerificationFailed()
    }
  }
}
