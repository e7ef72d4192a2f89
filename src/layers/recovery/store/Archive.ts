import { Effect, Schema } from "effect"
import { createSecretKey, type KeyObject, randomBytes, randomUUID } from "node:crypto"
import { promisify } from "node:util"
import { constants, zstdCompress, zstdDecompress } from "node:zlib"
import { type EncryptionKey, readEncryptionKey, seal, unseal } from "../../../domain/connections/SealedText.ts"
import {
  archiveFile,
  archiveFormat,
  ArchiveInfo,
  BaseBackup,
  baseFile,
  baseFolder,
  baseIdOf
} from "../../../domain/recovery/Archive.ts"
import { parseHistory, parseHistoryName, parsePiece, type Switch } from "../../../domain/recovery/Log.ts"
import { openObject, sealObject } from "../../../domain/recovery/SealedObject.ts"
import { type ArchivedLog } from "../../../domain/recovery/Windows.ts"
import { ArchiveTrouble, type ArchiveStore } from "./Store.ts"

/** The cluster that an archive belongs to. */
export type ArchivedCluster = Pick<ArchiveInfo, "system_identifier" | "segment_size" | "major" | "database" | "user">

/** What opens an archive: an installation's encryption keys, or the recovery key. */
export type ArchiveKeys =
  | { readonly kind: "installation"; readonly keys: ReadonlyArray<EncryptionKey> }
  | { readonly kind: "recovery"; readonly key: EncryptionKey }

/** An archive whose objects can be read and written: each is compressed by zstd (RFC 8878), then sealed. */
export interface Archive {
  /** As it was opened; of it only `keys` and what is known of the recovery key change (`current`). */
  readonly info: Omit<ArchiveInfo, "keys" | "recovery_key_kept_at">
  readonly current: Effect.Effect<ArchiveInfo, ArchiveTrouble>
  readonly place: string
  readonly lookEvery: number
  /** The number of bytes stored. */
  readonly put: (name: string, content: Uint8Array) => Effect.Effect<number, ArchiveTrouble>
  /** Fails if the object is missing or damaged. */
  readonly get: (name: string) => Effect.Effect<Buffer, ArchiveTrouble>
  readonly remove: ArchiveStore["remove"]
  readonly list: ArchiveStore["list"]
  /** Complete base backups by their beginning. */
  readonly bases: Effect.Effect<ReadonlyArray<BaseBackup>, ArchiveTrouble>
  /** Removes a base backup, which is incomplete from the beginning of it. */
  readonly removeBase: (id: string) => Effect.Effect<void, ArchiveTrouble>
  readonly log: Effect.Effect<ArchivedLog, ArchiveTrouble>
  /** Seals the archive's key with a recovery key, in place of an earlier one. */
  readonly setRecoveryKey: (key: Uint8Array) => Effect.Effect<void, ArchiveTrouble>
  /** Records that a recovery key was kept, if it is the current one. */
  readonly confirmRecoveryKey: (key: Uint8Array, at: string) => Effect.Effect<boolean, ArchiveTrouble>
}

const compress = promisify(zstdCompress)
const decompress = promisify(zstdDecompress)
/** A higher level takes twice the time for a few per cent. */
const level = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }

const sealedPlace = (id: string, kind: ArchiveKeys["kind"]) => `archive ${id} ${kind}`

const trouble = (reason: string) => new ArchiveTrouble({ reason })

const decodeInfo = Schema.decodeUnknownEffect(Schema.fromJsonString(ArchiveInfo))
const decodeBase = Schema.decodeUnknownEffect(Schema.fromJsonString(BaseBackup))

/** A recovery key as a key of SealedText. */
export const recoveryEncryptionKey = (key: Uint8Array): EncryptionKey => {
  const read = readEncryptionKey(Buffer.from(key).toString("hex"))
  if (read === undefined) throw new Error("A recovery key has 32 bytes")
  return read
}

const openKey = (info: ArchiveInfo, keys: ArchiveKeys, place: string): Effect.Effect<KeyObject, ArchiveTrouble> => {
  const sealed = info.keys[keys.kind]
  if (sealed === null)
    return Effect.fail(
      trouble(`The archive in ${place} has no recovery key yet, so it opens only for its installation`)
    )
  const opened = unseal(keys.kind === "installation" ? keys.keys : [keys.key], sealed, sealedPlace(info.id, keys.kind))
  if ("text" in opened) return Effect.succeed(createSecretKey(Buffer.from(opened.text, "base64")))
  return Effect.fail(
    trouble(
      keys.kind === "recovery"
        ? `The archive in ${place} does not open with this recovery key`
        : `The archive in ${place} belongs to another installation: no key of this one opens it. Set another SVC_PITR_DIR or SVC_PITR_BUCKET, or the SVC_ENCRYPTION_KEY it was made with (SVC_ENCRYPTION_KEYS_OLD)`
    )
  )
}

const writeInfo = (store: ArchiveStore, info: ArchiveInfo) =>
  store.put(archiveFile, Buffer.from(`${JSON.stringify(info, null, 2)}\n`))

const readInfo = Effect.fnUntraced(function* (store: ArchiveStore) {
  const bytes = yield* store.get(archiveFile)
  if (bytes === undefined) return undefined
  const info = yield* Effect.mapError(decodeInfo(bytes.toString("utf8")), () =>
    trouble(`${archiveFile} in ${store.place} is damaged, or written by a newer version`)
  )
  if (info.format === archiveFormat) return info
  return yield* trouble(
    `The archive in ${store.place} has format ${info.format}, and this version reads ${archiveFormat}`
  )
})

const archiveOf = (store: ArchiveStore, info: ArchiveInfo, key: KeyObject): Archive => {
  const { lookEvery, place } = store

  const put = Effect.fnUntraced(function* (name: string, content: Uint8Array) {
    const compressed = yield* Effect.promise(() => compress(content, level))
    const sealed = sealObject(key, name, compressed)
    yield* store.put(name, sealed)
    return sealed.length
  })

  const get = Effect.fnUntraced(function* (name: string) {
    const sealed = yield* store.get(name)
    if (sealed === undefined) return yield* trouble(`${name} is missing in ${place}`)
    const compressed = openObject(key, name, sealed)
    if (compressed === undefined) return yield* trouble(`${name} in ${place} is damaged`)
    return yield* Effect.tryPromise({
      try: () => decompress(compressed),
      catch: () => trouble(`${name} in ${place} is damaged`)
    })
  })

  /** Objects do not change, so that each is read once. */
  const known = { bases: new Map<string, BaseBackup>(), histories: new Map<number, ReadonlyArray<Switch>>() }

  const bases = Effect.gen(function* () {
    const names = yield* store.list(baseFolder)
    const ids = new Set(
      names.flatMap((name) => (name === baseFile(baseIdOf(name) ?? "") ? [baseIdOf(name) ?? ""] : []))
    )
    for (const id of known.bases.keys()) if (!ids.has(id)) known.bases.delete(id)
    for (const id of ids) {
      if (known.bases.has(id)) continue
      const text = (yield* get(baseFile(id))).toString("utf8")
      known.bases.set(id, yield* Effect.mapError(decodeBase(text), () => trouble(`${baseFile(id)} is damaged`)))
    }
    return [...known.bases.values()].sort((a, b) => Date.parse(a.started_at) - Date.parse(b.started_at))
  })

  const log = Effect.gen(function* () {
    const names = yield* store.list("log/")
    for (const name of names) {
      const timeline = parseHistoryName(name)
      if (timeline === undefined || known.histories.has(timeline)) continue
      known.histories.set(timeline, parseHistory((yield* get(name)).toString("utf8")))
    }
    return {
      pieces: names.flatMap((name) => parsePiece(name) ?? []),
      histories: known.histories,
      segmentSize: BigInt(info.segment_size)
    } satisfies ArchivedLog
  })

  /** Read each time, because another replica may have changed it. */
  const current = Effect.flatMap(readInfo(store), (now) =>
    now === undefined ? Effect.fail(trouble(`${archiveFile} is missing in ${place}`)) : Effect.succeed(now)
  )

  return {
    info,
    place,
    lookEvery,
    put,
    get,
    remove: store.remove,
    list: store.list,
    bases,
    removeBase: Effect.fnUntraced(function* (id: string) {
      yield* store.remove([baseFile(id)])
      yield* store.remove(yield* store.list(`${baseFolder}${id}/`))
    }),
    log,
    current,
    setRecoveryKey: Effect.fnUntraced(function* (bytes: Uint8Array) {
      const now = yield* current
      const recovery = seal(
        recoveryEncryptionKey(bytes),
        key.export().toString("base64"),
        sealedPlace(info.id, "recovery")
      )
      yield* writeInfo(store, { ...now, keys: { ...now.keys, recovery }, recovery_key_kept_at: null })
    }),
    confirmRecoveryKey: Effect.fnUntraced(function* (bytes: Uint8Array, at: string) {
      const now = yield* current
      const sealed = now.keys.recovery
      if (sealed === null) return false
      if (!("text" in unseal([recoveryEncryptionKey(bytes)], sealed, sealedPlace(info.id, "recovery")))) return false
      yield* writeInfo(store, { ...now, recovery_key_kept_at: at })
      return true
    })
  }
}

/** The archive in a store; undefined for an empty store. */
export const openArchive = Effect.fnUntraced(function* (store: ArchiveStore, keys: ArchiveKeys) {
  const info = yield* readInfo(store)
  return info === undefined ? undefined : archiveOf(store, info, yield* openKey(info, keys, store.place))
})

const sealForInstallation = (current: EncryptionKey, id: string, key: KeyObject) =>
  seal(current, key.export().toString("base64"), sealedPlace(id, "installation"))

/**
 * The archive of a cluster, which is created in an empty store. Fails if it is that of another cluster, or if there was one
 * before (`slot`, its replication slot): its disk may not be mounted.
 */
export const openOrCreateArchive = Effect.fnUntraced(function* (
  store: ArchiveStore,
  current: EncryptionKey,
  old: ReadonlyArray<EncryptionKey>,
  cluster: ArchivedCluster,
  slot: string | undefined,
  now: string
) {
  const info = yield* readInfo(store)
  if (info !== undefined) {
    const key = yield* openKey(info, { kind: "installation", keys: [current, ...old] }, store.place)
    if (info.system_identifier === cluster.system_identifier) {
      if (info.keys.installation.split(".")[1] === current.id) return archiveOf(store, info, key)
      // An old encryption key is removed from the settings one day.
      const rotated = { ...info, keys: { ...info.keys, installation: sealForInstallation(current, info.id, key) } }
      yield* writeInfo(store, rotated)
      return archiveOf(store, rotated, key)
    }
    return yield* trouble(
      `The archive in ${store.place} is that of another cluster, such as the one before a restore: set another SVC_PITR_DIR or SVC_PITR_BUCKET, and keep the old one until it is not needed`
    )
  }
  const names = yield* store.list("")
  if (names.length > 0) {
    return yield* trouble(
      `${store.place} has no ${archiveFile}, but other objects: an archive needs a place of its own`
    )
  }
  if (slot !== undefined) {
    return yield* trouble(
      `There is no archive in ${store.place}, although the log was archived before: is its disk mounted? To begin another archive: select pg_drop_replication_slot('${slot}')`
    )
  }
  const id = randomUUID()
  const key = createSecretKey(randomBytes(32))
  const created: ArchiveInfo = {
    ...cluster,
    format: archiveFormat,
    id,
    created_at: now,
    keys: {
      installation: sealForInstallation(current, id, key),
      recovery: null
    },
    recovery_key_kept_at: null
  }
  yield* writeInfo(store, created)
  return archiveOf(store, created, key)
})
