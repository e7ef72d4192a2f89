import { discard, type Kept, multipartFrom, sign, type Signed, transfer } from "./transfer.ts"

export interface Upload {
  readonly id: number
  readonly bucket: string
  readonly key: string
  readonly file: File
  readonly sent: number
  readonly state: "waiting" | "sending" | "done" | "failed" | "cancelled"
  readonly problem?: string
  /** What the store has of it, if it did not end. */
  readonly kept?: Kept | undefined
}

/** A file with its path in the dropped folder. */
export interface Given {
  readonly file: File
  readonly path: string
}

const atOnce = 3

/** Files whose URLs are signed by one call, and for how long these are used: below the 15 minutes for which they are valid. */
const [signedAtOnce, signedMillis] = [100, 600_000]

let uploads: ReadonlyArray<Upload> = []
let nextId = 1
const listeners = new Set<() => void>()
const running = new Map<number, AbortController>()
const finished = new Set<(upload: Upload) => void>()

const become = (next: ReadonlyArray<Upload>) => {
  uploads = next
  for (const listener of listeners) listener()
}
const change = (id: number, part: Partial<Upload>) =>
  become(uploads.map((one) => (one.id === id ? { ...one, ...part } : one)))

/** The URLs of files that wait, by upload. */
const signatures = new Map<number, Promise<Signed>>()

/** The URL of a file that is sent whole. Those that wait behind it are signed by the same call. */
const signatureOf = (upload: Upload): Promise<Signed> | undefined => {
  const ahead = signatures.get(upload.id)
  if (ahead !== undefined) return ahead
  const together = [upload, ...uploads].filter(
    ({ bucket, file, id, state }, place) =>
      bucket === upload.bucket &&
      file.size < multipartFrom &&
      (place === 0 || (id !== upload.id && state === "waiting" && !signatures.has(id)))
  )
  const some = together.slice(0, signedAtOnce)
  if (some[0] !== upload || some.length === 1) return undefined
  const all = sign(upload.bucket, some)
  some.forEach((one, place) => {
    // A key that can't be signed fails the call of all: each is signed by itself then.
    const own = all.then(
      (signed) => signed[place] as Signed,
      () => sign(one.bucket, [one]).then(([single]) => single as Signed)
    )
    own.catch(() => undefined)
    signatures.set(one.id, own)
    setTimeout(() => signatures.delete(one.id), signedMillis)
  })
  return signatures.get(upload.id)
}

const pump = () => {
  const waiting = uploads.find(({ state }) => state === "waiting")
  if (waiting === undefined || running.size >= atOnce) return
  const { bucket, file, id, kept, key } = waiting
  const controller = new AbortController()
  running.set(id, controller)
  change(id, { state: "sending" })
  const onProgress = (sent: number) => change(id, { sent })
  const keep = (next: Kept | undefined) => change(id, { kept: next })
  transfer({ bucket, key, file, kept, keep, signed: signatureOf(waiting), signal: controller.signal, onProgress })
    .then(
      () => change(id, { state: "done", sent: file.size }),
      (error: unknown) =>
        change(
          id,
          controller.signal.aborted
            ? { state: "cancelled" }
            : { state: "failed", problem: error instanceof Error ? error.message : String(error) }
        )
    )
    .finally(() => {
      running.delete(id)
      signatures.delete(id)
      const ended = uploads.find((one) => one.id === id)
      for (const listener of finished) if (ended !== undefined) listener(ended)
      pump()
    })
  pump()
}

// Leaving the page ends what is being sent, and it can't be continued: the page forgets the file.
addEventListener("beforeunload", (event) => {
  if (running.size > 0) event.preventDefault()
})
addEventListener("pagehide", () => discardKept(uploads))

const discardKept = (some: ReadonlyArray<Upload>) => {
  for (const upload of some) if (upload.kept !== undefined) void discard(upload, upload.kept)
}

const isOpen = ({ state }: Upload) => state === "waiting" || state === "sending"

/** Uploads go on while other pages of the dashboard are open. */
export const uploadStore = {
  all: () => uploads,
  subscribe: (listener: () => void) => {
    listeners.add(listener)
    return () => {
      listeners.delete(listener)
    }
  },
  /** Whether files of a bucket are still to be sent. */
  sends: (bucket: string) => uploads.some((upload) => upload.bucket === bucket && isOpen(upload)),
  onFinished: (listener: (upload: Upload) => void) => {
    finished.add(listener)
    return () => {
      finished.delete(listener)
    }
  },
  add: (bucket: string, prefix: string, files: ReadonlyArray<Given>) => {
    become([
      ...uploads,
      ...files.map(({ file, path }): Upload => ({
        id: nextId++,
        bucket,
        key: prefix + path,
        file,
        sent: 0,
        state: "waiting"
      }))
    ])
    pump()
  },
  cancel: (id: number) => {
    const controller = running.get(id)
    if (controller === undefined) change(id, { state: "cancelled" })
    else controller.abort(new Error("The upload was cancelled"))
  },
  /** Goes on after the parts that the store has. */
  retry: (id: number) => {
    change(id, { state: "waiting" })
    pump()
  },
  clear: () => {
    discardKept(uploads.filter((upload) => !isOpen(upload)))
    become(uploads.filter(isOpen))
  }
}

const filesOf = async (entry: FileSystemEntry): Promise<ReadonlyArray<Given>> => {
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject))
    return [{ file, path: entry.fullPath.slice(1) }]
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader()
  const found: Array<Given> = []
  for (;;) {
    // A reader returns at most a hundred entries at a time.
    const some = await new Promise<ReadonlyArray<FileSystemEntry>>((resolve, reject) =>
      reader.readEntries(resolve, reject)
    )
    if (some.length === 0) return found
    for (const one of some) found.push(...(await filesOf(one)))
  }
}

/** The files of a drop, those in folders with their paths. */
export const droppedFiles = async (data: DataTransfer): Promise<ReadonlyArray<Given>> => {
  // They must be taken before the first pause: the drop's data is gone after it.
  const entries = Array.from(data.items, (item) => item.webkitGetAsEntry()).filter((entry) => entry !== null)
  if (entries.length === 0) return Array.from(data.files, (file) => ({ file, path: file.name }))
  return (await Promise.all(entries.map(filesOf))).flat()
}
