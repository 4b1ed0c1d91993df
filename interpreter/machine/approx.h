#pragma once
// The hardware's approximate functions. They are out of line on purpose: the tile interpreter calls the same code
// through dsl/num, so that both executors agree to the bit.
namespace tile::sim {

float approx_exp2(float x);
float approx_log2(float x);
float approx_rcp(float x);
float approx_rsq(float x);
float approx_sqrt(float x);
float approx_sin(float x);   // of x turns (2*pi*x radians)
float approx_cos(float x);
double approx_rsq64(double x);
double sqrt64(double x);
double exp2_64(double x);
double log2_64(double x);
double sin_turns(double x);
double cos_turns(double x);
// Segment of 2/pi used in the argument reduction of trigonometric functions.
double trig_preop(double x, unsigned segment);

}  // namespace tile::sim
