/** What a process uses, as Linux tells it. */
import { readFile } from "node:fs/promises"

/** Resident memory in MiB. */
export const resident = async (pid: number) => {
  const status = await readFile(`/proc/${pid}/status`, "utf8")
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024
}

/** Ticks of the kernel a second; 100 wherever Node runs on Linux. */
const ticks = 100

/** Processor time used so far, in seconds, by all of its threads. */
export const processorTime = async (pid: number) => {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8")
  // Behind the name, which may hold anything but ends with the last bracket: utime is the 12th field, stime the 13th.
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
