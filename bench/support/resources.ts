/** Resources that a process uses, from /proc on Linux. */
import { readFile } from "node:fs/promises"

/** Resident memory in MiB. */
export const resident = async (pid: number) => {
  const status = await readFile(`/proc/${pid}/status`, "utf8")
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024
}

/** Kernel ticks per second; 100 on every Linux that Node supports. */
const ticks = 100

/** Processor time of all threads so far, in seconds. */
export const processorTime = async (pid: number) => {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8")
  // After the name, which may contain anything and ends with the last bracket, utime is field 12 and stime field 13.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  return (Number(fields[11]) + Number(fields[12])) / ticks
}

/** Resident memory every 250 ms while `use` runs, in MiB. */
export const watched = async (pid: number, use: () => Promise<void>) => {
  const samples: Array<number> = []
  const timer = setInterval(() => void resident(pid).then((mebibytes) => samples.push(mebibytes)), 250)
  await use().finally(() => clearInterval(timer))
  return samples
}
