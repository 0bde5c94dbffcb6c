/** All pages begin at the same place, also while they load, so that nothing jumps from one to the next. */
export const pageClasses = 'mx-auto w-full max-w-7xl p-4 md:px-6 md:py-5 2xl:max-w-[90rem]'
