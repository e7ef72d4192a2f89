import { useQuery } from "@tanstack/react-query"
import { answerOf, call } from "../../wire/call.ts"

const prefix = "x-amz-meta-"
const word = /=\?UTF-8\?B\?([A-Za-z0-9+/=]*)\?=(?:\s+(?==\?))?/gi

/** Texts that are not plain ASCII are encoded words in headers (RFC 2047), as the service sends them. */
const decodeWords = (text: string) =>
  text.replaceAll(word, (_, base64: string) => {
    const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))
    return new TextDecoder().decode(bytes)
  })

export interface StoredFile {
  readonly url: string
  readonly type: string
  readonly disposition: string
  readonly size: number
  readonly etag: string
  readonly changed: string
  /** Without the prefix of their headers. */
  readonly metadata: Readonly<Record<string, string>>
}

/** A file with a link to its content. */
export const useFile = (bucket: string, key: string) =>
  useQuery({
    queryKey: ["object", bucket, key],
    queryFn: async ({ signal }): Promise<StoredFile> => {
      const { headers } = await answerOf("HEAD /api/storage/buckets/:bucket/objects/metadata", {
        params: { bucket },
        query: { key },
        signal
      })
      const { url } = await call("POST /api/storage/buckets/:bucket/objects/presign-download", {
        params: { bucket },
        payload: { key, expiresIn: 900 },
        signal
      })
      return {
        url,
        type: headers.get("content-type") ?? "",
        disposition: headers.get("content-disposition") ?? "",
        size: Number(headers.get("content-length")),
        etag: headers.get("etag") ?? "",
        changed: headers.get("last-modified") ?? "",
        metadata: Object.fromEntries(
          Array.from(headers).flatMap(([name, value]) =>
            name.startsWith(prefix) ? [[name.slice(prefix.length), decodeWords(value)]] : []
          )
        )
      }
    },
    // The link expires.
    staleTime: 600_000,
    gcTime: 0
  })

export const useTags = (bucket: string, key: string) =>
  useQuery({
    queryKey: ["object-tags", bucket, key],
    queryFn: async ({ signal }) =>
      (await call("GET /api/storage/buckets/:bucket/objects/tags", { params: { bucket }, query: { key }, signal }))
        .tags,
    gcTime: 0,
    retry: false
  })
