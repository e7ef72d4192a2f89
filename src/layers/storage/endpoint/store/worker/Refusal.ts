import type { S3Code } from "../../Error.ts"

/** What the index's thread throws for an S3Error: that class would bring Effect into the thread. */
export class Refusal extends Error {
  readonly code: S3Code
  readonly extra: Readonly<Record<string, string>> | undefined

  constructor(code: S3Code, extra?: Readonly<Record<string, string>>) {
    super(code)
    this.code = code
    this.extra = extra
  }
}
