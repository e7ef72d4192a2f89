import { call } from "../wire/call.ts"

/** From this size on a file is sent in parts, of which each can be sent again by itself. */
const multipartFrom = 100 * 1024 * 1024
const smallestPart = 16 * 1024 * 1024
const mostParts = 10_000
const atOnce = 4
const tries = 3

interface Transfer {
  readonly bucket: string
  readonly key: string
  readonly file: File
  readonly signal: AbortSignal
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

/** PUTs bytes to a presigned URL. Not by `fetch`, which does not tell how much has been sent. */
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

const whole = async ({ bucket, file, key, onProgress, signal }: Transfer) => {
  const payload = { key, contentType: typeOf(file), size: file.size }
  const { headers, url } = await call("POST /api/storage/buckets/:bucket/objects/presign-upload", {
    params: { bucket },
    payload,
    signal
  })
  await put({ url, body: file, headers, signal, onProgress })
}

const inParts = async (transfer: Transfer) => {
  const { bucket, file, key, onProgress } = transfer
  const params = { bucket }
  const { uploadId } = await call("POST /api/storage/buckets/:bucket/objects/multipart/init", {
    params,
    payload: { key, contentType: typeOf(file) },
    signal: transfer.signal
  })
  // One part that fails for good stops the others.
  const failed = new AbortController()
  const signal = AbortSignal.any([transfer.signal, failed.signal])
  const size = Math.max(smallestPart, Math.ceil(file.size / mostParts))
  const count = Math.ceil(file.size / size)
  const sent = new Map<number, number>()
  const parts: Array<{ readonly partNumber: number; readonly etag: string }> = []
  let next = 1
  const send = async (partNumber: number) => {
    const body = file.slice((partNumber - 1) * size, partNumber * size)
    for (let attempt = 1; ; attempt++) {
      try {
        const { url } = await call("POST /api/storage/buckets/:bucket/objects/multipart/presign-part", {
          params,
          payload: { key, uploadId, partNumber },
          signal
        })
        const progressed = (bytes: number) => {
          sent.set(partNumber, bytes)
          onProgress(Array.from(sent.values()).reduce((sum, one) => sum + one, 0))
        }
        parts.push({ partNumber, etag: await put({ url, body, headers: {}, signal, onProgress: progressed }) })
        return
      } catch (error) {
        if (signal.aborted || attempt === tries) throw error
      }
    }
  }
  const work = async () => {
    while (next <= count) await send(next++)
  }
  try {
    await Promise.all(Array.from({ length: atOnce }, work))
    await call("POST /api/storage/buckets/:bucket/objects/multipart/complete", {
      params,
      payload: { key, uploadId, parts: parts.toSorted((a, b) => a.partNumber - b.partNumber) },
      signal
    })
  } catch (error) {
    failed.abort(error)
    // Without this the store would keep the parts, which no listing shows.
    await call("POST /api/storage/buckets/:bucket/objects/multipart/abort", {
      params,
      payload: { key, uploadId }
    }).catch(() => undefined)
    throw error
  }
}

export const transfer = (given: Transfer) => (given.file.size < multipartFrom ? whole(given) : inParts(given))
