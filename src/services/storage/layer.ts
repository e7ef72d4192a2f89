import { Layer } from "effect"
import { Storage } from "./Storage.ts"
import { layerUploadExpiry } from "./UploadExpiry.ts"

/** Buckets, objects and uploads. */
export const layer = Layer.mergeAll(Storage.layer, layerUploadExpiry)
