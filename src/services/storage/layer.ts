import { Storage } from "./Storage.ts"

/** Buckets, objects and uploads. */
export const layer = Storage.layer
