import { Effect } from "effect"
import { ObjectStore, type StoreError } from "../../../src/services/ports/ObjectStore.ts"

export const text = (content: string) => new TextEncoder().encode(content)

export const put = (url: string, body: Uint8Array | string, headers: Record<string, string> = {}) =>
  Effect.promise(() => fetch(url, { method: "PUT", body: body as Exclude<RequestInit["body"], undefined>, headers }))

export const bodyOf = (url: string) =>
  Effect.promise(async () => new Uint8Array(await (await fetch(url)).arrayBuffer()))

/** The error as `"404 BUCKET_NOT_FOUND"`, or `"ok"`. */
export const refusal = <A, R>(effect: Effect.Effect<A, StoreError, R>) =>
  Effect.match(effect, { onSuccess: () => "ok", onFailure: ({ code, status }) => `${status} ${code}` })

let made = 0
/** A new empty bucket, deleted after the test. */
export const bucketOf = Effect.gen(function* () {
  const store = yield* ObjectStore
  const name = `contract-${process.pid}-${Date.now()}-${made++}`
  yield* Effect.acquireRelease(store.createBucket(name), () =>
    Effect.exit(Effect.andThen(store.emptyBucket(name), store.deleteBucket(name)))
  )
  return name
})

export const keysOf = (bucket: string, prefix = "") =>
  Effect.gen(function* () {
    const page = yield* (yield* ObjectStore).list(bucket, {
      prefix,
      delimiter: undefined,
      limit: 1000,
      token: undefined
    })
    return page.objects.map(({ key }) => key)
  })

export const every = { prefix: "", delimiter: undefined, token: undefined }
export const mebibyte = 1024 * 1024
/** Keys with characters that need care in URLs, XML or paths. */
export const keys = [
  "plain.txt",
  "a/b/c",
  "sp ace",
  "plus+percent%25%",
  "&?#=;:@$,'\"<>\\^`{}|~[]*()!",
  "漢字/é/😀",
  "x".repeat(200),
  "...",
  "tab\tnewline\n",
  "carriage\rreturn",
  "\x01\x1f\x7f\x80\u2028\uffff",
  "%2e%2e/%2F"
]
