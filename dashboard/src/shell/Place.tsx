import { Button } from "../ui/Button.tsx"
import { Empty } from "../ui/Empty.tsx"
import { useBranch } from "../ui/page/useBranch.ts"
import { goToPlace, place } from "../wire/place.ts"
import { viewerName, viewerOf } from "../wire/viewer.ts"

/** In place of a page whose address does not say which database it is about: nothing is read or written before. */
export const PlaceQuestion = () => {
  const { lost } = place
  const branch = useBranch(lost.branch)
  const viewer = lost.as === undefined ? undefined : viewerOf(lost.as)
  if (place.invalid.length > 0) {
    return (
      <Empty
        icon="branch"
        title="This address names what does not exist"
        action={
          <Button kind="main" onClick={() => goToPlace({})}>
            Go to the main database
          </Button>
        }
      >
        <code>{place.invalid.join("&")}</code> is no branch or caller. Nothing was read or written.
      </Empty>
    )
  }
  const was = [
    ...(branch === undefined ? [] : [`on the branch ${branch.label}`]),
    ...(viewer === undefined ? [] : [`as ${viewerName(viewer)}`])
  ].join(", ")
  const here = [
    ...(lost.branch === undefined ? [] : ["on the main database"]),
    ...(lost.as === undefined ? [] : ["as the service"])
  ].join(", ")
  return (
    <Empty
      icon="branch"
      title="Where do you want to work?"
      action={
        <div className="place-choices">
          <Button kind="main" disabled={branch?.gone === true} onClick={() => goToPlace({ ...place.here, ...lost })}>
            Stay {was}
          </Button>
          <Button onClick={() => goToPlace(place.here)}>Work {here}</Button>
        </div>
      }
    >
      This tab worked {was}. Its new address does not say so
      {branch?.gone === true ? ", and the branch was dropped or has expired" : ""}.
    </Empty>
  )
}

/** Over a page whose branch was dropped or has expired: what was typed there stays, and nothing follows it elsewhere. */
export const BranchGone = () => {
  const branch = useBranch()
  return branch?.gone !== true ? null : (
    <div className="notice" role="alert">
      <p>
        <b>The branch &quot;{branch.label}&quot; was dropped or has expired.</b> Nothing of this page reaches the main
        database.
      </p>
      <Button onClick={() => goToPlace({ ...place.here, branch: undefined })}>Go to the main database</Button>
    </div>
  )
}
