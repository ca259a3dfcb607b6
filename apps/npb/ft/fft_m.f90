! SPDX-License-Identifier: Apache-2.0
!> Complex Fourier transforms of lines whose length is a power of two, eight lines at a time.
!>
!> Grids store the lines in chunks: real(dp) grid(lanes, 2, 0:*), where grid(:, 1, c) are the real and grid(:, 2, c) the
!> imaginary parts of one element of eight lines. The compiler vectorises the loops over lanes. The method is Stockham's
!> with decimation in frequency and radix 8 and 4, which needs no bit reversal (Van Loan, Computational Frameworks for
!> the Fast Fourier Transform, 1992, section 1.7). The first pass reads the grid and the last pass writes it, so lines
!> are gathered from and scattered to arbitrary chunks without an extra copy.
module fft_m
  use aligned_m, only: aligned_shift, slack
  use npb_m, only: dp
  implicit none
  private
  public :: lanes, fft_t, fft_init, fft_begin, fft_finish

  integer, parameter :: lanes = 8, chunk = 2 * lanes
  real(dp), parameter :: pi = acos(-1.0_dp), half_root = sqrt(0.5_dp)

  !> A pass reduces transforms of length radix * m to length m, for `done` interleaved transforms.
  type :: pass_t
    integer :: radix, m, done
    real(dp), allocatable :: twiddle(:, :, :) !< shape: 2, radix - 1, m
  end type pass_t

  !> Transforms of one length. Passes share `work`, so only one caller at a time may use a value.
  type :: fft_t
    integer :: n = 0
    type(pass_t), allocatable, private :: passes(:)
    integer, allocatable, private :: in_order(:)
    real(dp), allocatable, private :: work(:)
    integer, private :: first = 0, second = 0 !< starts of the two buffers in `work`
  end type fft_t

contains

  !> Sets up transforms of length n, a power of two from 16.
  subroutine fft_init(fft, n)
    type(fft_t), intent(out) :: fft
    integer, intent(in) :: n
    integer :: radices(32), count, left, i

    count = 0
    left = n
    do while (left > 1)
      count = count + 1
      radices(count) = merge(8, 4, mod(left, 8) == 0 .and. left /= 16)
      left = left / radices(count)
    end do
    fft%n = n
    fft%in_order = [(i, i=0, n - 1)]
    allocate (fft%passes(count))
    left = n
    do i = 1, count
      fft%passes(i)%radix = radices(i)
      fft%passes(i)%done = n / left
      fft%passes(i)%m = left / radices(i)
      fft%passes(i)%twiddle = twiddles(radices(i), left / radices(i))
      left = left / radices(i)
    end do
    allocate (fft%work(2 * chunk * n + slack))
    fft%first = aligned_shift(fft%work)
    fft%second = fft%first + chunk * n
  end subroutine fft_init

  !> Returns exp(-2 pi i k p / (radix m)) for k = 1 … radix - 1 and p = 0 … m - 1.
  pure function twiddles(radix, m) result(w)
    integer, intent(in) :: radix, m
    real(dp) :: w(2, radix - 1, m)
    real(dp) :: angle
    integer :: k, p

    do p = 0, m - 1
      do k = 1, radix - 1
        angle = -2 * pi * real(k * p, dp) / real(radix * m, dp)
        w(:, k, p + 1) = [cos(angle), sin(angle)]
      end do
    end do
  end function twiddles

  !> First half of a transform: reads element j of the eight lines from chunk place(j) of the grid. The inverse (not
  !> divided by n) is the transform with real and imaginary parts exchanged in input and output.
  subroutine fft_begin(fft, grid, place, inverse)
    type(fft_t), intent(inout) :: fft
    real(dp), intent(in) :: grid(lanes, 2, 0:*)
    integer, intent(in) :: place(0:*)
    logical, intent(in) :: inverse

    call run(fft%passes(1), merge(2, 1, inverse), grid, place, 1, fft%work(fft%first + 1), fft%in_order)
  end subroutine fft_begin

  !> Second half of a transform: writes frequency k to chunk place(k) of a grid, which may be the input grid.
  subroutine fft_finish(fft, grid, place, inverse)
    type(fft_t), intent(inout) :: fft
    real(dp), intent(inout) :: grid(lanes, 2, 0:*)
    integer, intent(in) :: place(0:*)
    logical, intent(in) :: inverse
    integer :: i, last, from, to, kept

    from = fft%first + 1
    to = fft%second + 1
    last = size(fft%passes)
    do i = 2, last - 1
      call run(fft%passes(i), 1, fft%work(from), fft%in_order, 1, fft%work(to), fft%in_order)
      kept = from
      from = to
      to = kept
    end do
    call run(fft%passes(last), 1, fft%work(from), fft%in_order, merge(2, 1, inverse), grid, place)
  end subroutine fft_finish

  !> Runs one pass from chunks in(:) of x to chunks out(:) of y. xr and yr are the indices of the real part in x and y.
  pure subroutine run(pass, xr, x, in, yr, y, out)
    type(pass_t), intent(in) :: pass
    integer, intent(in) :: xr, yr, in(0:*), out(0:*)
    real(dp), intent(in) :: x(lanes, 2, 0:*)
    real(dp), intent(inout) :: y(lanes, 2, 0:*)

    if (pass%radix == 8) then
      call radix_8(pass%m, pass%done, pass%twiddle, xr, x, in, yr, y, out)
    else
      call radix_4(pass%m, pass%done, pass%twiddle, xr, x, in, yr, y, out)
    end if
  end subroutine run

  !> Runs a pass of radix 4, for s interleaved transforms. The body of the loop over lanes uses real scalars only and
  !> calls nothing: GCC 12 does not vectorise it with complex scalars or with calls, even if it inlines them.
  pure subroutine radix_4(m, s, w, xr, x, in, yr, y, out)
    integer, intent(in) :: m, s, xr, yr, in(0:*), out(0:*)
    real(dp), intent(in) :: w(2, 3, 0:m - 1), x(lanes, 2, 0:*)
    real(dp), intent(inout) :: y(lanes, 2, 0:*)
    real(dp) :: ar, ai, br, bi, cr, ci, dr, di, r, i
    integer :: p, q, v, xi, yi, i0, i1, i2, i3, o0, o1, o2, o3

    xi = 3 - xr
    yi = 3 - yr
    do p = 0, m - 1
      do q = 0, s - 1
        i0 = in(q + s * p)
        i1 = in(q + s * (p + m))
        i2 = in(q + s * (p + 2 * m))
        i3 = in(q + s * (p + 3 * m))
        o0 = out(q + s * 4 * p)
        o1 = out(q + s * (4 * p + 1))
        o2 = out(q + s * (4 * p + 2))
        o3 = out(q + s * (4 * p + 3))
        !$omp simd private(ar, ai, br, bi, cr, ci, dr, di, r, i)
        do v = 1, lanes
          ar = x(v, xr, i0) + x(v, xr, i2)
          ai = x(v, xi, i0) + x(v, xi, i2)
          br = x(v, xr, i0) - x(v, xr, i2)
          bi = x(v, xi, i0) - x(v, xi, i2)
          cr = x(v, xr, i1) + x(v, xr, i3)
          ci = x(v, xi, i1) + x(v, xi, i3)
          dr = x(v, xi, i1) - x(v, xi, i3)
          di = x(v, xr, i3) - x(v, xr, i1)
          y(v, yr, o0) = ar + cr
          y(v, yi, o0) = ai + ci
          r = br + dr
          i = bi + di
          y(v, yr, o1) = r * w(1, 1, p) - i * w(2, 1, p)
          y(v, yi, o1) = r * w(2, 1, p) + i * w(1, 1, p)
          r = ar - cr
          i = ai - ci
          y(v, yr, o2) = r * w(1, 2, p) - i * w(2, 2, p)
          y(v, yi, o2) = r * w(2, 2, p) + i * w(1, 2, p)
          r = br - dr
          i = bi - di
          y(v, yr, o3) = r * w(1, 3, p) - i * w(2, 3, p)
          y(v, yi, o3) = r * w(2, 3, p) + i * w(1, 3, p)
        end do
      end do
    end do
  end subroutine radix_4

  !> Runs a pass of radix 8. Computes two transforms of length four: of the sums x(t) + x(t + 4) and of the rotated
  !> differences (x(t) - x(t + 4)) w**t.
  pure subroutine radix_8(m, s, w, xr, x, in, yr, y, out)
    integer, intent(in) :: m, s, xr, yr, in(0:*), out(0:*)
    real(dp), intent(in) :: w(2, 7, 0:m - 1), x(lanes, 2, 0:*)
    real(dp), intent(inout) :: y(lanes, 2, 0:*)
    real(dp) :: s0r, s0i, s1r, s1i, s2r, s2i, s3r, s3i, d0r, d0i, d1r, d1i, d2r, d2i, d3r, d3i
    real(dp) :: ar, ai, br, bi, cr, ci, dr, di, r, i
    integer :: p, q, v, xi, yi, k(0:7), o(0:7)

    xi = 3 - xr
    yi = 3 - yr
    do p = 0, m - 1
      do q = 0, s - 1
        do v = 0, 7
          k(v) = in(q + s * (p + v * m))
          o(v) = out(q + s * (8 * p + v))
        end do
        !$omp simd private(s0r, s0i, s1r, s1i, s2r, s2i, s3r, s3i, d0r, d0i, d1r, d1i, d2r, d2i, d3r, d3i, &
        !$omp & ar, ai, br, bi, cr, ci, dr, di, r, i)
        do v = 1, lanes
          s0r = x(v, xr, k(0)) + x(v, xr, k(4))
          s0i = x(v, xi, k(0)) + x(v, xi, k(4))
          d0r = x(v, xr, k(0)) - x(v, xr, k(4))
          d0i = x(v, xi, k(0)) - x(v, xi, k(4))
          s1r = x(v, xr, k(1)) + x(v, xr, k(5))
          s1i = x(v, xi, k(1)) + x(v, xi, k(5))
          r = x(v, xr, k(1)) - x(v, xr, k(5))
          i = x(v, xi, k(1)) - x(v, xi, k(5))
          d1r = half_root * (r + i)
          d1i = half_root * (i - r)
          s2r = x(v, xr, k(2)) + x(v, xr, k(6))
          s2i = x(v, xi, k(2)) + x(v, xi, k(6))
          d2r = x(v, xi, k(2)) - x(v, xi, k(6))
          d2i = x(v, xr, k(6)) - x(v, xr, k(2))
          s3r = x(v, xr, k(3)) + x(v, xr, k(7))
          s3i = x(v, xi, k(3)) + x(v, xi, k(7))
          r = x(v, xr, k(3)) - x(v, xr, k(7))
          i = x(v, xi, k(3)) - x(v, xi, k(7))
          d3r = half_root * (i - r)
          d3i = -half_root * (r + i)

          ar = s0r + s2r
          ai = s0i + s2i
          br = s0r - s2r
          bi = s0i - s2i
          cr = s1r + s3r
          ci = s1i + s3i
          dr = s1i - s3i
          di = s3r - s1r
          y(v, yr, o(0)) = ar + cr
          y(v, yi, o(0)) = ai + ci
          r = br + dr
          i = bi + di
          y(v, yr, o(2)) = r * w(1, 2, p) - i * w(2, 2, p)
          y(v, yi, o(2)) = r * w(2, 2, p) + i * w(1, 2, p)
          r = ar - cr
          i = ai - ci
          y(v, yr, o(4)) = r * w(1, 4, p) - i * w(2, 4, p)
          y(v, yi, o(4)) = r * w(2, 4, p) + i * w(1, 4, p)
          r = br - dr
          i = bi - di
          y(v, yr, o(6)) = r * w(1, 6, p) - i * w(2, 6, p)
          y(v, yi, o(6)) = r * w(2, 6, p) + i * w(1, 6, p)

          ar = d0r + d2r
          ai = d0i + d2i
          br = d0r - d2r
          bi = d0i - d2i
          cr = d1r + d3r
          ci = d1i + d3i
          dr = d1i - d3i
          di = d3r - d1r
          r = ar + cr
          i = ai + ci
          y(v, yr, o(1)) = r * w(1, 1, p) - i * w(2, 1, p)
          y(v, yi, o(1)) = r * w(2, 1, p) + i * w(1, 1, p)
          r = br + dr
          i = bi + di
          y(v, yr, o(3)) = r * w(1, 3, p) - i * w(2, 3, p)
          y(v, yi, o(3)) = r * w(2, 3, p) + i * w(1, 3, p)
          r = ar - cr
          i = ai - ci
          y(v, yr, o(5)) = r * w(1, 5, p) - i * w(2, 5, p)
          y(v, yi, o(5)) = r * w(2, 5, p) + i * w(1, 5, p)
          r = br - dr
          i = bi - di
          y(v, yr, o(7)) = r * w(1, 7, p) - i * w(2, 7, p)
          y(v, yi, o(7)) = r * w(2, 7, p) + i * w(1, 7, p)
        end do
      end do
    end do
  end subroutine radix_8
end module fft_m
