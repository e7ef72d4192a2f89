import { call } from "../wire/call.ts"
import { ApiError } from "../wire/ApiError.ts"

/** From this size on a file is sent in parts, of which each can be sent again by itself. */
export const multipartFrom = 100 * 1024 * 1024
const smallestPart = 16 * 1024 * 1024
const mostParts = 10_000
const atOnce = 4
const tries = 3

/** What the store has of a file that is sent in parts: the upload's id, and the ETags of parts by their numbers. */
export interface Kept {
  readonly uploadId: string
  readonly parts: Map<number, string>
}

interface Transfer {
  readonly bucket: string
  readonly key: string
  readonly file: File
  readonly signal: AbortSignal
  /** The URL of a file that is sent whole. */
  readonly signed: Promise<Signed> | undefined
  /** From an attempt that was cancelled or failed. */
  readonly kept: Kept | undefined
  /** Called when there is something to keep, and with undefined when there is not any more. */
  readonly keep: (kept: Kept | undefined) => void
  /** Bytes that have arrived. */
  readonly onProgress: (sent: number) => void
}

interface Put {
  readonly url: string
  readonly body: Blob
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  readonly onProgress: (sent: number) => void
}

/** PUTs bytes to a presigned URL. Not by `fetch`, which does not report how much has been sent. */
const put = ({ body, headers, onProgress, signal, url }: Put): Promise<string> =>
  new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    const stop = () => request.abort()
    const fail = (message: string) => reject(new Error(message))
    request.open("PUT", url)
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value)
    request.upload.addEventListener("progress", ({ loaded }) => onProgress(loaded))
    request.addEventListener("load", () => {
      const reason = /<Message>([^<]{1,300})/.exec(request.responseText)?.[1] ?? `HTTP ${request.status}`
      if (request.status === 200) resolve(request.getResponseHeader("etag") ?? "")
      else fail(`The object store refused the upload: ${reason}`)
    })
    request.addEventListener("error", () =>
      fail("The object store could not be reached, or its CORS rules do not allow uploads from this page")
    )
    request.addEventListener("abort", () => reject(signal.reason as Error))
    request.addEventListener("loadend", () => signal.removeEventListener("abort", stop))
    signal.addEventListener("abort", stop)
    if (signal.aborted) stop()
    request.send(body)
  })

const typeOf = (file: File) => (file.type === "" ? "application/octet-stream" : file.type)

/** Where and how a file is sent. */
export interface Signed {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

/** Signs the URLs of several files of a bucket by one call, in their order. */
export const sign = async (
  bucket: string,
  files: ReadonlyArray<Pick<Transfer, "key" | "file">>
): Promise<ReadonlyArray<Signed>> => {
  const given = files.map(({ file, key }) => ({ key, contentType: typeOf(file), size: file.size }))
  const signed = await call("POST /api/storage/buckets/:bucket/objects/presign-uploads", {
    params: { bucket },
    payload: { files: given }
  })
  return signed.files
}

const whole = async ({ bucket, file, key, onProgress, signal, signed }: Transfer) => {
  const [own] = signed === undefined ? await sign(bucket, [{ file, key }]) : [await signed]
  signal.throwIfAborted()
  if (own !== undefined) await put({ ...own, body: file, signal, onProgress })
}

/** Begins an upload in parts, or goes on with one. */
const begin = async ({ bucket, file, keep, kept, key, signal }: Transfer): Promise<Kept> => {
  if (kept !== undefined) return kept
  const payload = { key, contentType: typeOf(file) }
  const { uploadId } = await call("POST /api/storage/buckets/:bucket/objects/multipart/init", {
    params: { bucket },
    payload,
    signal
  })
  const begun = { uploadId, parts: new Map<number, string>() }
  keep(begun)
  return begun
}

const inParts = async (transfer: Transfer) => {
  const { bucket, file, keep, key, onProgress } = transfer
  const params = { bucket }
  const { parts, uploadId } = await begin(transfer)
  // One part that fails for good stops the others.
  const failed = new AbortController()
  const signal = AbortSignal.any([transfer.signal, failed.signal])
  const size = Math.max(smallestPart, Math.ceil(file.size / mostParts))
  const count = Math.ceil(file.size / size)
  const partOf = (partNumber: number) => file.slice((partNumber - 1) * size, partNumber * size)
  const sent = new Map(Array.from(parts.keys(), (partNumber) => [partNumber, partOf(partNumber).size]))
  const progressed = () => onProgress(Array.from(sent.values()).reduce((sum, one) => sum + one, 0))
  let next = 1
  const send = async (partNumber: number) => {
    for (let attempt = 1; ; attempt++) {
      try {
        const { url } = await call("POST /api/storage/buckets/:bucket/objects/multipart/presign-part", {
          params,
          payload: { key, uploadId, partNumber },
          signal
        })
        const partProgressed = (bytes: number) => {
          sent.set(partNumber, bytes)
          progressed()
        }
        const body = partOf(partNumber)
        parts.set(partNumber, await put({ url, body, headers: {}, signal, onProgress: partProgressed }))
        return
      } catch (error) {
        if (signal.aborted || attempt === tries) throw error
      }
    }
  }
  const work = async () => {
    while (next <= count) {
      const partNumber = next++
      if (!parts.has(partNumber)) await send(partNumber)
    }
  }
  progressed()
  try {
    await Promise.all(Array.from({ length: atOnce }, work))
    const payload = {
      key,
      uploadId,
      parts: Array.from(parts, ([partNumber, etag]) => ({ partNumber, etag })).toSorted(
        (a, b) => a.partNumber - b.partNumber
      )
    }
    await call("POST /api/storage/buckets/:bucket/objects/multipart/complete", { params, payload, signal })
    keep(undefined)
  } catch (error) {
    failed.abort(error)
    // Completed or aborted by others: the next attempt begins a new one.
    if (error instanceof ApiError && error.body.code === "UPLOAD_NOT_FOUND") keep(undefined)
    throw error
  }
}

/** Has the store delete the parts of an upload, which no listing shows. Also while the page is being left. */
export const discard = ({ bucket, key }: Pick<Transfer, "bucket" | "key">, { uploadId }: Kept): Promise<unknown> =>
  call("POST /api/storage/buckets/:bucket/objects/multipart/abort", {
    params: { bucket },
    payload: { key, uploadId },
    keepalive: true
  }).catch(() => undefined)

export const transfer = (given: Transfer) => (given.file.size < multipartFrom ? whole(given) : inParts(given))
