import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListPartsCommand,
  S3Client,
  UploadPartCommand
} from "@aws-sdk/client-s3"
import { createReadStream } from "node:fs"
import { lstat, open, rename, rm, stat, truncate } from "node:fs/promises"
import { dirname, resolve } from "node:path"
import { setTimeout } from "node:timers/promises"
import { syncDirectory } from "../process/StoredFile.ts"
import { errorCode } from "../process/StartError.ts"
import { ArchiveRefused } from "./Key.ts"

/** A segment that is stored, and the ETag that its store gave it. */
interface Stored {
  readonly size: number
  readonly etag: string | null
}

/** An archive that is not complete: the id of its upload, and its segments in their order. */
export interface UnfinishedArchive {
  readonly upload: string | null
  readonly segments: ReadonlyArray<Stored>
}

/** Where an archive is. It exists when it is complete, and is never overwritten. */
export interface ArchivePlace {
  readonly name: string
  /** Fails early if an archive can't be written here. */
  readonly check: () => Promise<void>
  /** The id of an upload. */
  readonly begin: () => Promise<string | null>
  /** Whether all segments are there as they were stored. */
  readonly isThere: (unfinished: UnfinishedArchive) => Promise<boolean>
  /** Stores a segment after those of the archive, durably. */
  readonly append: (unfinished: UnfinishedArchive, bytes: ReadonlyArray<Uint8Array>) => Promise<Stored>
  readonly complete: (unfinished: UnfinishedArchive) => Promise<void>
  /** Removes what was stored. */
  readonly abandon: (unfinished: UnfinishedArchive) => Promise<void>
  readonly read: () => AsyncIterable<Uint8Array>
}

const exists = (name: string) => new ArchiveRefused(`${name} exists: choose another name, or remove it`)

export const storedBytes = ({ segments }: UnfinishedArchive) => segments.reduce((sum, { size }) => sum + size, 0)

const filePlace = (given: string): ArchivePlace => {
  const file = resolve(given)
  const partial = `${file}.partial`
  const check = async () => {
    if ((await lstat(file).catch(() => undefined)) !== undefined) throw exists(file)
    if ((await stat(dirname(file)).catch(() => undefined))?.isDirectory() !== true) {
      throw new ArchiveRefused(`${dirname(file)} is not a directory`)
    }
  }
  return {
    name: file,
    check,
    begin: async () => {
      try {
        await (await open(partial, "wx", 0o600)).close()
      } catch (cause) {
        if (errorCode(cause) !== "EEXIST") throw cause
        throw new ArchiveRefused(
          `${partial} is of an export that still runs or of one from elsewhere: choose another name, or remove it`
        )
      }
      return null
    },
    isThere: async (unfinished) => {
      const found = await lstat(partial).catch(() => undefined)
      return found?.isFile() === true && found.size >= storedBytes(unfinished)
    },
    append: async (unfinished, bytes) => {
      const handle = await open(partial, "r+")
      try {
        let at = storedBytes(unfinished)
        const from = at
        for (const piece of bytes) {
          for (let written = 0; written < piece.length;) {
            const { bytesWritten } = await handle.write(piece, written, piece.length - written, at)
            written += bytesWritten
            at += bytesWritten
          }
        }
        await handle.sync()
        return { size: at - from, etag: null }
      } finally {
        await handle.close()
      }
    },
    complete: async (unfinished) => {
      await check()
      // A segment that was stored, but not recorded, may have been longer than the last one.
      await truncate(partial, storedBytes(unfinished))
      await rename(partial, file)
      await syncDirectory(dirname(file))
    },
    abandon: () => rm(partial, { force: true }),
    read: () => createReadStream(file, { highWaterMark: 1 << 20 })
  }
}

const statusOf = (cause: unknown) =>
  (cause as { readonly $metadata?: { readonly httpStatusCode?: number } }).$metadata?.httpStatusCode ?? 0

const orMissing = <A>(call: Promise<A>): Promise<A | undefined> =>
  call.catch((cause: unknown) => {
    if (statusOf(cause) !== 404) throw cause
    return undefined
  })

const reads = 6

/** With the address and credentials of the AWS SDK's own variables and files: AWS_ENDPOINT_URL_S3, AWS_ACCESS_KEY_ID, … */
const s3Place = (name: string, Bucket: string, Key: string): ArchivePlace => {
  const client = new S3Client({
    forcePathStyle: (process.env["AWS_ENDPOINT_URL_S3"] ?? process.env["AWS_ENDPOINT_URL"]) !== undefined,
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    maxAttempts: 5
  })
  const at = { Bucket, Key }
  const uploadOf = ({ upload }: UnfinishedArchive) => ({ ...at, UploadId: upload ?? undefined })
  const check = async () => {
    if ((await orMissing(client.send(new HeadObjectCommand(at)))) !== undefined) throw exists(name)
  }
  return {
    name,
    check,
    begin: async () => (await client.send(new CreateMultipartUploadCommand(at))).UploadId ?? null,
    isThere: async (unfinished) =>
      (await orMissing(client.send(new ListPartsCommand({ ...uploadOf(unfinished), MaxParts: 1 })))) !== undefined,
    append: async (unfinished, bytes) => {
      const Body = Buffer.concat(bytes)
      const PartNumber = unfinished.segments.length + 1
      const { ETag } = await client.send(new UploadPartCommand({ ...uploadOf(unfinished), PartNumber, Body }))
      return { size: Body.length, etag: ETag ?? null }
    },
    complete: async (unfinished) => {
      await check()
      const Parts = unfinished.segments.map(({ etag }, index) => ({ PartNumber: index + 1, ETag: etag ?? undefined }))
      await client.send(new CompleteMultipartUploadCommand({ ...uploadOf(unfinished), MultipartUpload: { Parts } }))
    },
    abandon: async (unfinished) => {
      await orMissing(client.send(new AbortMultipartUploadCommand(uploadOf(unfinished))))
    },
    read: async function* () {
      let [offset, failures]: [number, number] = [0, 0]
      let etag: string | undefined
      for (;;) {
        try {
          const rest = offset === 0 ? {} : { IfMatch: etag, Range: `bytes=${offset}-` }
          const found = await client.send(new GetObjectCommand({ ...at, ...rest }))
          etag ??= found.ETag
          for await (const piece of found.Body as unknown as AsyncIterable<Uint8Array>) {
            offset += piece.length
            failures = 0
            yield piece
          }
          return
        } catch (cause) {
          const status = statusOf(cause)
          if ((status >= 400 && status < 500) || offset === 0 || ++failures === reads) throw cause
          await setTimeout(250 * 2 ** failures)
        }
      }
    }
  }
}

/** The place of a path or of `s3://bucket/key`. */
export const archivePlace = (given: string): ArchivePlace => {
  if (!given.includes("://")) return filePlace(given)
  const [, bucket, key] = /^s3:\/\/([a-z0-9.-]{3,63})\/(.+)$/.exec(given) ?? []
  if (bucket === undefined || key === undefined) {
    throw new ArchiveRefused(`"${given}" is neither a path nor an address such as s3://bucket/name`)
  }
  return s3Place(given, bucket, key)
}
