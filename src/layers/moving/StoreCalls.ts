import { type S3Client } from "@aws-sdk/client-s3"
import { Effect } from "effect"
import { type S3 } from "../storage/client/Client.ts"
import { type S3Failure } from "../storage/client/Errors.ts"

/** Calls of the store as promises; a failure names the command's subject. */
export const storeCaller =
  ({ send }: S3, signal?: AbortSignal) =>
  <A>(subject: string, call: (s3: S3Client, options: { readonly abortSignal: AbortSignal }) => Promise<A>) =>
    Effect.runPromise(
      Effect.mapError(send(call, "slow"), (failure) => new StoreCallFailed(subject, failure)),
      { signal }
    )

export class StoreCallFailed extends Error {
  override readonly name = "StoreCallFailed"
  readonly failure: S3Failure

  constructor(subject: string, failure: S3Failure) {
    super(`${subject}: ${[failure.code, failure.status || "", failure.message].filter(Boolean).join(" ")}`)
    this.failure = failure
  }
}

export const isMissing = (cause: unknown) => cause instanceof StoreCallFailed && cause.failure.status === 404
