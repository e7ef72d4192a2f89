import "./storage.css"
import { useQueryClient } from "@tanstack/react-query"
import { Link, useParams, useSearch } from "@tanstack/react-router"
import { type DragEvent, useEffect, useRef, useState } from "react"
import { Button } from "../ui/Button.tsx"
import { CopyRequest } from "../ui/page/CopyRequest.tsx"
import { Empty, Skeleton } from "../ui/Empty.tsx"
import { plural } from "../ui/format.ts"
import { Icon } from "../ui/Icon.tsx"
import { Problem } from "../ui/Problem.tsx"
import { toastError } from "../ui/toast.ts"
import { codeOf } from "../wire/ApiError.ts"
import { AllowUploads } from "./AllowUploads.tsx"
import { DeleteObjects } from "./DeleteObjects.tsx"
import { NoBucket } from "./NoBucket.tsx"
import { ObjectList } from "./ObjectList.tsx"
import { FilePanel } from "./file/FilePanel.tsx"
import { useAccess, useFolder } from "./queries.ts"
import { UploadList } from "./UploadList.tsx"
import { droppedFiles, uploadStore } from "./uploads.ts"

/** The bucket and the folders down to this one, each a link. */
const Path = ({ bucket, prefix }: { bucket: string; prefix: string }) => {
  const folders = prefix.split("/").slice(0, -1)
  return (
    <nav className="storage-path" aria-label="Folders">
      <Link to="/storage/$bucket" params={{ bucket }} search={{}} activeOptions={{ exact: true }}>
        {bucket}
      </Link>
      {folders.map((name, at) => {
        const path = `${folders.slice(0, at + 1).join("/")}/`
        return (
          <span key={path}>
            {" / "}
            <Link to="/storage/$bucket" params={{ bucket }} search={{ prefix: path }}>
              {name === "" ? "(no name)" : name}
            </Link>
          </span>
        )
      })}
    </nav>
  )
}

/** How often the list is read while files are uploaded. */
const listedMillis = 2_000

const Folder = ({ bucket, prefix }: { bucket: string; prefix: string }) => {
  const client = useQueryClient()
  const folder = useFolder(bucket, prefix)
  const { open: allowed, rules } = useAccess(bucket)
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set())
  const [shown, setShown] = useState<string>()
  const [deleting, setDeleting] = useState(false)
  const [over, setOver] = useState(false)
  const chooser = useRef<HTMLInputElement>(null)
  useEffect(() => {
    let read = 0
    return uploadStore.onFinished((upload) => {
      if (upload.bucket !== bucket || (upload.state !== "done" && read === 0)) return
      // While more come, the list is read now and then, and once after the last.
      if (uploadStore.sends(bucket) && performance.now() - read < listedMillis) return
      read = performance.now()
      void client.invalidateQueries({ queryKey: ["objects", bucket] })
    })
  }, [bucket, client])
  const objects = folder.data?.pages.flatMap((page) => page.objects) ?? []
  const folders = Array.from(new Set(folder.data?.pages.flatMap((page) => page.common_prefixes ?? []) ?? []))
  const drop = (event: DragEvent) => {
    event.preventDefault()
    setOver(false)
    if (allowed !== true) return
    droppedFiles(event.dataTransfer).then((files) => uploadStore.add(bucket, prefix, files), toastError)
  }
  const upload = (
    <Button kind="main" icon="upload" disabled={allowed !== true} onClick={() => chooser.current?.click()}>
      Upload
    </Button>
  )
  if (folder.isError && codeOf(folder.error) === "BUCKET_NOT_FOUND") return <NoBucket />
  const isEmpty = folder.isSuccess && objects.length + folders.length === 0
  return (
    // Dropping has the button "Upload" as its twin for the keyboard.
    // oxlint-disable-next-line jsx-a11y/no-static-element-interactions
    <div
      className={`page storage ${over ? "over" : ""}`}
      onDragOver={(event) => {
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={(event) => {
        if (event.target === event.currentTarget) setOver(false)
      }}
      onDrop={drop}
    >
      <div className="page-head">
        <h2>
          <Path bucket={bucket} prefix={prefix} />
        </h2>
        {picked.size === 0 ? null : (
          <Button icon="trash" onClick={() => setDeleting(true)}>
            Delete {plural(picked.size, "item")}
          </Button>
        )}
        <CopyRequest
          path={`/api/storage/buckets/${bucket}/objects?${new URLSearchParams({ prefix, delimiter: "/" }).toString()}`}
        />
        <Link className="button" to="/storage/$bucket/settings" params={{ bucket }}>
          <Icon name="lock" />
          <span>Access</span>
        </Link>
        <Button icon="refresh" label="Read again" onClick={() => void folder.refetch()} />
        {upload}
        <input
          ref={chooser}
          type="file"
          multiple
          hidden
          aria-label="Files to upload"
          onChange={(event) => {
            uploadStore.add(
              bucket,
              prefix,
              Array.from(event.target.files ?? [], (file) => ({ file, path: file.name }))
            )
            event.target.value = ""
          }}
        />
      </div>
      {allowed === false && rules !== undefined ? <AllowUploads bucket={bucket} rules={rules} /> : null}
      <UploadList />
      {folder.isPending ? (
        <Skeleton lines={[100, 100, 100]} />
      ) : folder.isLoadingError ? (
        <Problem error={folder.error} title="The files could not be read" onRetry={() => void folder.refetch()} />
      ) : isEmpty ? (
        <Empty icon="upload" title={prefix === "" ? "No files yet" : "Nothing in this folder"}>
          Drop files or folders here, or press Upload.
        </Empty>
      ) : (
        <>
          <ObjectList
            bucket={bucket}
            prefix={prefix}
            folders={folders}
            objects={objects}
            picked={picked}
            onPick={setPicked}
            onShow={setShown}
          />
          <p className="storage-foot">
            {folder.hasNextPage ? "First " : ""}
            {plural(objects.length, "file")}
            {folders.length === 0 ? "" : ` and ${plural(folders.length, "folder")}`}
            {folder.hasNextPage ? (
              <Button busy={folder.isFetchingNextPage} onClick={() => void folder.fetchNextPage()}>
                More
              </Button>
            ) : null}
          </p>
        </>
      )}
      {shown === undefined ? null : (
        <FilePanel
          key={shown}
          bucket={bucket}
          objectKey={shown}
          allowed={allowed === true}
          onClose={() => setShown(undefined)}
        />
      )}
      {deleting ? (
        <DeleteObjects
          bucket={bucket}
          keys={Array.from(picked)}
          onClose={() => setDeleting(false)}
          onDeleted={() => {
            setPicked(new Set())
            setShown(undefined)
            void client.invalidateQueries({ queryKey: ["objects", bucket] })
          }}
        />
      ) : null}
    </div>
  )
}

export const BucketPage = () => {
  const { bucket } = useParams({ strict: false }) as { readonly bucket: string }
  const { prefix } = useSearch({ strict: false }) as { readonly prefix?: unknown }
  const folder = typeof prefix === "string" ? prefix : ""
  return <Folder key={`${bucket}/${folder}`} bucket={bucket} prefix={folder} />
}
