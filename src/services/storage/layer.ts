import { Layer } from "effect"
import { Storage } from "./Buckets.ts"
import { StorageObjects } from "./Objects.ts"
import { StorageUploads } from "./Uploads.ts"

/** Buckets, objects and uploads. */
export const layer = Layer.mergeAll(Storage.layer, StorageObjects.layer, StorageUploads.layer)
