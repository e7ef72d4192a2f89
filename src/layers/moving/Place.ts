import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  HeadObjectCommand,
  S3Client,
  UploadPartCommand
} from "@aws-sdk/client-s3"
import { createReadStream } from "node:fs"
import { open, rename, rm, stat } from "node:fs/promises"
import { dirname, resolve } from "node:path"
import { syncDirectory } from "../process/StoredFile.ts"
import { inUploadParts } from "./Objects.ts"
import { ArchiveRefused } from "./Parts.ts"

/** Where an archive is. It exists when it is complete, and is never overwritten. */
export interface ArchivePlace {
  readonly name: string
  /** Fails early if an archive can't be written here. */
  readonly check: () => Promise<void>
  readonly write: (bytes: AsyncIterable<Uint8Array>) => Promise<number>
  readonly read: () => AsyncIterable<Uint8Array>
}

const exists = (name: string) => new ArchiveRefused(`${name} exists: choose another name, or remove it`)

const filePlace = (given: string): ArchivePlace => {
  const file = resolve(given)
  const partial = `${file}.partial`
  const check = async () => {
    if ((await stat(file).catch(() => undefined)) !== undefined) throw exists(file)
    if ((await stat(dirname(file)).catch(() => undefined))?.isDirectory() !== true) {
      throw new ArchiveRefused(`${dirname(file)} is not a directory`)
    }
  }
  return {
    name: file,
    check,
    read: () => createReadStream(file, { highWaterMark: 1 << 20 }),
    write: async (bytes) => {
      // What an export left that was killed.
      await rm(partial, { force: true })
      const handle = await open(partial, "wx", 0o600)
      let size = 0
      try {
        for await (const piece of bytes) {
          await handle.write(piece)
          size += piece.length
        }
        await handle.sync()
        await check()
        await rename(partial, file)
      } catch (cause) {
        await rm(partial, { force: true })
        throw cause
      } finally {
        await handle.close()
      }
      await syncDirectory(dirname(file))
      return size
    }
  }
}

const mebibyte = 1024 * 1024
/** Parts grow, so that 10,000 of them hold 5 TB, the most that an object may have. */
const partSize = (index: number) => 16 * mebibyte * 2 ** Math.min(6, Math.floor(index / 1000))

/** With the address and credentials of the AWS SDK's own variables and files: AWS_ENDPOINT_URL_S3, AWS_ACCESS_KEY_ID, … */
const s3Place = (name: string, Bucket: string, Key: string): ArchivePlace => {
  const client = new S3Client({
    forcePathStyle: (process.env["AWS_ENDPOINT_URL_S3"] ?? process.env["AWS_ENDPOINT_URL"]) !== undefined,
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED"
  })
  const at = { Bucket, Key }
  return {
    name,
    check: async () => {
      const found = await client.send(new HeadObjectCommand(at)).then(
        () => true,
        (cause: { readonly $metadata?: { readonly httpStatusCode?: number } }) => {
          if (cause.$metadata?.httpStatusCode === 404) return false
          throw cause
        }
      )
      if (found) throw exists(name)
    },
    read: async function* () {
      const { Body } = await client.send(new GetObjectCommand(at))
      yield* Body as unknown as AsyncIterable<Uint8Array>
    },
    write: async (bytes) => {
      const { UploadId } = await client.send(new CreateMultipartUploadCommand(at))
      const parts: Array<{ readonly PartNumber: number; readonly ETag: string | undefined }> = []
      let size = 0
      for await (const Body of inUploadParts(bytes, partSize)) {
        const PartNumber = parts.length + 1
        const { ETag } = await client.send(new UploadPartCommand({ ...at, UploadId, PartNumber, Body }))
        parts.push({ PartNumber, ETag })
        size += Body.length
      }
      await client.send(new CompleteMultipartUploadCommand({ ...at, UploadId, MultipartUpload: { Parts: parts } }))
      return size
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
