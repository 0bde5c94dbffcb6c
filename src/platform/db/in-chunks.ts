/** Repeats a step until it does less than `size`, and returns how much all steps did. */
export const inChunks = async (size: number, step: () => Promise<number>): Promise<number> => {
  for (let total = 0; ; ) {
    const done = await step()
    total += done
    if (done < size) return total
  }
}
