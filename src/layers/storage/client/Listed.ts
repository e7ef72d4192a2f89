import { GetBucketVersioningCommand, ListObjectVersionsCommand } from "@aws-sdk/client-s3"
import { Effect, Option, Stream } from "effect"
import { maxKeys } from "../../../domain/storage/Object.ts"
import { type ListedObject, type ObjectStore, type StoreError } from "../../../services/ports/ObjectStore.ts"
import { decodedKey, failWith, type S3 } from "./Client.ts"

type Store = ObjectStore["Service"]

const bare = (etag: string | undefined) => (etag ?? "").replaceAll('"', "")

/** All objects of a bucket, with their versions where the bucket has them. */
export const makeListed = ({ call, send }: S3, list: Store["list"]): Store["listed"] => {
  const isVersioned = (bucket: string) =>
    send((s3, options) => s3.send(new GetBucketVersioningCommand({ Bucket: bucket }), options)).pipe(
      Effect.map(({ Status }) => Status !== undefined),
      // Some stores do not know versions.
      Effect.catch((failure) =>
        failure.code === "NotImplemented" ? Effect.succeed(false) : failWith(failure, { bucket })
      )
    )

  const plain = (bucket: string): Stream.Stream<ListedObject, StoreError> =>
    Stream.paginate(undefined as string | undefined, (token) =>
      Effect.map(
        list(bucket, { prefix: "", delimiter: undefined, limit: maxKeys, token }),
        ({ next_continuation_token, objects }) => [
          objects.map(({ etag, key, size }) => ({ key, size, etag: bare(etag) })),
          next_continuation_token === null ? Option.none() : Option.some(next_continuation_token)
        ]
      )
    )

  const versioned = (bucket: string): Stream.Stream<ListedObject, StoreError> =>
    Stream.paginate({} as { readonly KeyMarker?: string; readonly VersionIdMarker?: string | undefined }, (markers) =>
      Effect.map(
        call({ bucket }, (s3, options) =>
          s3.send(new ListObjectVersionsCommand({ Bucket: bucket, EncodingType: "url", ...markers }), options)
        ),
        ({ EncodingType, IsTruncated, NextKeyMarker, NextVersionIdMarker, Versions = [] }) => [
          Versions.filter(({ IsLatest }) => IsLatest === true).map(({ ETag, Key, Size, VersionId }) => ({
            key: decodedKey(Key, EncodingType),
            size: Size ?? 0,
            etag: bare(ETag),
            version: VersionId
          })),
          IsTruncated === true
            ? Option.some({ KeyMarker: decodedKey(NextKeyMarker, EncodingType), VersionIdMarker: NextVersionIdMarker })
            : Option.none()
        ]
      )
    )

  return (bucket) =>
    Stream.unwrap(Effect.map(isVersioned(bucket), (kept) => (kept ? versioned(bucket) : plain(bucket))))
}
